-- uses allowed

-- groups_at maps each name to its three keys, which start at KEYS[first].
local function groups_at(first, names)
  local groups = {}
  for i, name in ipairs(names) do
    local k = first + 3 * (i - 1)
    groups[name] = {members = KEYS[k], by_score = KEYS[k + 1], by_time = KEYS[k + 2]}
  end
  return groups
end

-- check_group ends the script with an error if a key of a group has another type than it must have, or if enter or leave would not
-- be allowed, and notes whether it has the article, and which of the group's listings exist.
local function check_group(group, member)
  group.has_member = redis.call('SISMEMBER', group.members, member) == 1
  group.has_score = redis.call('ZCARD', group.by_score) > 0
  group.has_time = redis.call('ZCARD', group.by_time) > 0
  must_be_allowed('SADD', group.members, 'SREM', group.members, 'ZADD', group.by_score, 'ZREM', group.by_score,
    'ZADD', group.by_time, 'ZREM', group.by_time, 'SCARD', group.members)
end

-- enter changes a checked group and its existing listings together. The score is the text that
-- Redis returned, so it is not rounded on the way.
local function enter(group, member, score, time)
  if not group.has_member then redis.call('SADD', group.members, member) end
  if group.has_score then redis.call('ZADD', group.by_score, score, member) end
  if group.has_time then redis.call('ZADD', group.by_time, time, member) end
end
