-- read_group returns what is to be known of a group before an article enters or leaves it: its keys, whether it has the article, and
-- which of its listings exist.
local function read_group(members, by_score, by_time, member)
  return {
    members = members,
    by_score = by_score,
    by_time = by_time,
    has_member = redis.call('SISMEMBER', members, member) == 1,
    has_score = redis.call('ZCARD', by_score) > 0,
    has_time = redis.call('ZCARD', by_time) > 0,
  }
end

-- groups_at returns groups by their names. Each of them has three keys, which start at KEYS[first].
local function groups_at(first, names, member)
  local groups = {}
  for i, name in ipairs(names) do
    local k = first + 3 * (i - 1)
    groups[name] = read_group(KEYS[k], KEYS[k + 1], KEYS[k + 2], member)
  end
  return groups
end

-- enter puts an article into a group and its existing listings. The score is the text that Redis returned, so it is not rounded
-- on the way.
local function enter(group, member, score, time)
  if not group.has_member then redis.call('SADD', group.members, member) end
  if group.has_score then redis.call('ZADD', group.by_score, score, member) end
  if group.has_time then redis.call('ZADD', group.by_time, time, member) end
end
