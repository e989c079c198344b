-- front_page is the first 100 of the ranking as text: the hour, then the number and the score of each article, the highest
-- first. A whole score that follows one is written as its distance from that, any other score as it is, after a =.
local function front_page(scores, hour)
  local ranked, above = redis.call('ZRANGE', scores, 0, 99, 'REV', 'WITHSCORES'), nil
  local text = {string.format('%d', hour)}
  for i = 1, #ranked, 2 do
    local number, score = string.match(ranked[i], '^article:(%d+)$'), tonumber(ranked[i + 1])
    if number then
      text[#text + 1] = number
      if above and above % 1 == 0 and score % 1 == 0 then
        text[#text + 1] = string.format('%.0f', above - score)
      else
        text[#text + 1] = string.format('=%.17g', score)
      end
      above = score
    end
  end
  return table.concat(text, ' ')
end
