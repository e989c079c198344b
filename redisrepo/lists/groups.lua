-- uses allowed

-- calendar_at returns the calendar whose keys for an article start at KEYS[first].
local function calendar_at(first)
  return {clock = KEYS[first], hours = KEYS[first + 1], days = KEYS[first + 2], months = KEYS[first + 3]}
end

-- groups_at maps each name to its three keys, which start at KEYS[first]. If the feature group_top is on, after those of
-- all names follow four keys of each name's calendar, then in its field calendar; the group interesting has none.
local function groups_at(first, names, features)
  local groups, next_top = {}, first + 3 * #names
  for i, name in ipairs(names) do
    local k = first + 3 * (i - 1)
    groups[name] = {members = KEYS[k], by_score = KEYS[k + 1], by_time = KEYS[k + 2]}
    if string.find(features, 'group_top', 1, true) and name ~= 'interesting' then
      groups[name].calendar = calendar_at(next_top)
      next_top = next_top + 4
    end
  end
  return groups
end

-- check_group ends the script with an error if a key of a group has another type than it must have (see
-- must_be_zset), and notes whether it has the article, and which of the group's listings exist.
local function check_group(group, member)
  group.has_member = redis.call('SISMEMBER', group.members, member) == 1
  group.has_score = redis.call('ZCARD', group.by_score) > 0
  group.has_time = redis.call('ZCARD', group.by_time) > 0
end

-- must_be_changeable is must_be_allowed for enter and leave.
local function must_be_changeable(group)
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
