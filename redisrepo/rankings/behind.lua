-- behind_of returns the members of articles whose votes differ from their scores, each with its posting time and the votes of
-- its score.
local function behind_of(articles, scores, times, vote_score)
  local members, behind = {}, {}
  for i, article in ipairs(articles) do members[i] = article.member end
  if #members == 0 then return behind end
  local scored, posted = redis.call('ZMSCORE', scores, unpack(members)), redis.call('ZMSCORE', times, unpack(members))
  for i, article in ipairs(articles) do
    local score, time = tonumber(scored[i] or nil), tonumber(posted[i] or nil)
    local votes = score and time and math.floor((score - time) / vote_score + 0.5)
    if votes and votes ~= article.votes then
      behind[#behind + 1], behind[#behind + 2], behind[#behind + 3] = article.member, posted[i], string.format('%d', votes)
    end
  end
  return behind
end
