-- leave takes an article out of a group and its existing listings.
local function leave(group, member)
  if group.has_member then redis.call('SREM', group.members, member) end
  if group.has_score then redis.call('ZREM', group.by_score, member) end
  if group.has_time then redis.call('ZREM', group.by_time, member) end
end
