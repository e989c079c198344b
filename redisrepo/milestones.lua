-- append_milestones appends an event to the log for each of the net votes in milestones that an article has reached, by its change
-- from votes to after, for the first time. It is like the newest entry, which is that of the change.
local function append_milestones(events, article, milestones, votes, after)
  for _, milestone in ipairs(milestones) do
    local is_reached = votes < milestone and milestone <= after
    if is_reached and tonumber(redis.call('HGET', article, 'milestone') or 0) < milestone then
      local fields = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1][2]
      fields[2] = 'milestone'
      fields[16] = milestone -- the field to
      redis.call('HSET', article, 'milestone', milestone)
      redis.call('XADD', events, '*', unpack(fields, 1, 22)) -- without why a moderator changed it
    end
  end
end
