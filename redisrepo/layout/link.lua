-- link.lua: record which articles have some links. The record of a link names the newest article that has it.
--
-- uses types
-- KEYS record   link:DIGEST of each link
-- ARGS article  for each link in turn: the article's member, and its posting time, Unix seconds
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the records and changes nothing.

local articles = {unpack(ARGV, first_article)}

local function number(member) return tonumber(string.match(member, '%d+$')) or 0 end

for i, record in ipairs(KEYS) do
  local member, time = articles[2 * i - 1], articles[2 * i]
  local first, since = string.match(redis.call('GET', record) or '', '^(%S+) (%S+)$')
  local later = first and tonumber(since) - tonumber(time)
  if not first or first == member or later < 0 or later == 0 and number(first) < number(member) then
    redis.call('SET', record, member .. ' ' .. time)
  end
end
return {'OK'}
