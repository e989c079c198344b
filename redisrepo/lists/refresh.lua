-- refresh gives an article its place in the stored listing of a group, as the group and the ranking have it now. It returns
-- what Redis replied to the change: a table with an error if it was refused.
local function refresh(listing, group, ranking, member)
  local score = redis.call('SISMEMBER', group, member) == 1 and redis.call('ZSCORE', ranking, member)
  if score then return redis.pcall('ZADD', listing, score, member) end
  return redis.pcall('ZREM', listing, member)
end
