-- append_milestones must follow the entry of a change of an article from votes to after, net votes. For each milestone that it
-- reaches for the first time, it appends a copy of that entry with the kind milestone and the milestone in to. The indexes are those
-- of append.lua: 16 is the value of to, 22 that of at, after which an entry says why a moderator made the change.
local function append_milestones(events, article, milestones, votes, after)
  for _, milestone in ipairs(milestones) do
    local is_reached = votes < milestone and milestone <= after
    if is_reached and tonumber(redis.call('HGET', article, 'milestone') or 0) < milestone then
      local fields = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1][2]
      fields[2] = 'milestone'
      fields[16] = milestone
      redis.call('HSET', article, 'milestone', milestone)
      redis.call('XADD', events, '*', unpack(fields, 1, 22))
    end
  end
end
