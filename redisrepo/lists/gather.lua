-- gather.lua: add the next articles of a large group to its listing, which listing.lua has begun.
--
-- uses types building
-- KEY listing      score:NAME or time:NAME  zset  the listing. Until it is complete, its first member, with the score
--                  -inf, is building:PASS:CURSOR, so that the scripts that change the group change the
--                  listing, too
-- KEY group        group:NAME               set   the group's articles
-- KEY ranking      score: or time:          zset  the ranking of all articles in the same order
-- ARG count        about how many articles to look at
--
-- Replies {'MORE'}  call it again
--         {'OK'}    the listing is complete, or does not exist
-- Safe to run twice: the second run adds the articles that follow.
--
-- A cursor of SSCAN is valid only on the server that replied it. So the number of articles is compared after a pass, and if
-- it is wrong, since another server is the primary now, the next pass adds what is missing.

local last_pass = 3

local marker = building(listing)
if not marker then return {'OK'} end
local pass, cursor = string.match(marker, '^building:(%d+):.-(%d+)$') -- 0.9.0 has another number between them
if not pass then return redis.error_reply('CORRUPT listing') end
local found = redis.call('SSCAN', group, cursor, 'COUNT', count)

local members = found[2]
for first = 1, #members, 500 do
  local some = {unpack(members, first, math.min(first + 499, #members))}
  local scores = redis.call('ZMSCORE', ranking, unpack(some))
  local added = {}
  for i, member in ipairs(some) do
    if scores[i] then
      added[#added + 1] = scores[i]
      added[#added + 1] = member
    end
  end
  if #added > 0 then redis.call('ZADD', listing, unpack(added)) end
end

if found[1] == '0' then
  local is_whole = redis.call('SCARD', group) == redis.call('ZCARD', listing) - 1
  if is_whole or tonumber(pass) == last_pass then
    redis.call('ZREM', listing, marker)
    return {'OK'}
  end
  pass = pass + 1
end
local place = string.format('building:%d:%s', pass, found[1])
if place ~= marker then
  redis.call('ZADD', listing, '-inf', place)
  redis.call('ZREM', listing, marker)
end
return {'MORE'}
