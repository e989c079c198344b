-- behind_of returns the members of articles whose votes differ from their scores, each with its posting time.
local function behind_of(articles, scores, times, vote_score)
  local members, behind = {}, {}
  for i, article in ipairs(articles) do members[i] = article.member end
  if #members == 0 then return behind end
  local scored, posted = redis.call('ZMSCORE', scores, unpack(members)), redis.call('ZMSCORE', times, unpack(members))
  for i, article in ipairs(articles) do
    local score, time = tonumber(scored[i] or nil), tonumber(posted[i] or nil)
    if score and time and math.floor((score - time) / vote_score + 0.5) ~= article.votes then
      behind[#behind + 1], behind[#behind + 2] = article.member, posted[i]
    end
  end
  return behind
end
