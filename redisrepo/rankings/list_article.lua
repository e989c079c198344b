-- uses groups index_group worth

-- list_article puts an article into listings: the rankings times and scores, its other lists by posting time, the groups in names,
-- and the group interesting if it has that many votes. It returns its score as Redis writes it.
local function list_article(listings, member, time, votes, ranking, interesting_votes)
  redis.call('ZADD', listings.times, time, member)
  redis.call('ZADD', listings.scores, tonumber(time) + worth(ranking, votes), member)
  for _, list in ipairs(listings.lists) do redis.call('ZADD', list, time, member) end
  local score = redis.call('ZSCORE', listings.scores, member)
  for _, name in ipairs(listings.names) do
    local group = listings.groups[name]
    enter(group, member, score, time)
    index_group(listings.group_names, listings.sizes, group, name)
  end
  if votes >= interesting_votes then enter(listings.groups.interesting, member, score, time) end
  return score
end
