-- gather.lua: add the next articles of a large group to its listing, which listing.lua has begun.
--
-- uses types building index_group
-- KEY listing      score:NAME or time:NAME  zset  the listing. Until it is complete, its first member, with the score
--                  -inf, is building:PASS:UNRANKED:CURSOR, so that the scripts that change the group change the
--                  listing, too
-- KEY group        group:NAME               set   the group's articles
-- KEY ranking      score: or time:          zset  the ranking of all articles in the same order
-- KEY group_names  groups:                  zset  the names of all groups
-- KEY sizes        sizes:                   zset  the names of all groups by negated number of articles
-- ARG count        about how many articles to look at
-- ARG name         the group's name, or empty if it does not belong in the indexes
--
-- Replies {'MORE'}            call it again
--         {'OK', unranked}    the listing is complete; unranked is how many of the group's articles are not in ranking
--         {'NONE'}            the listing is complete, or does not exist
-- Safe to run twice: the second run adds the articles that follow.
--
-- A cursor of SSCAN is valid only on the server that replied it, and a walk may miss what a legacy client adds. So the
-- number of articles is compared after a pass, and if it is wrong, the next pass adds what is missing.

local last_pass = 3

local marker = building(listing)
if not marker then return {'NONE'} end
local pass, unranked, cursor = string.match(marker, '^building:(%d+):(%d+):(%d+)$')
if not pass then return redis.error_reply('CORRUPT listing') end
unranked = tonumber(unranked)
local found = redis.call('SSCAN', group, cursor, 'COUNT', count)

local members = found[2]
for first = 1, #members, 500 do
  local some = {unpack(members, first, math.min(first + 499, #members))}
  local scores, added = redis.call('ZMSCORE', ranking, unpack(some)), {}
  for i, member in ipairs(some) do
    if scores[i] then
      added[#added + 1] = scores[i]
      added[#added + 1] = member
    else
      unranked = unranked + 1
    end
  end
  if #added > 0 then redis.call('ZADD', listing, unpack(added)) end
end

if found[1] == '0' then
  local missing = redis.call('SCARD', group) - unranked - (redis.call('ZCARD', listing) - 1)
  if missing == 0 or tonumber(pass) == last_pass then
    redis.call('ZREM', listing, marker)
    if name ~= '' then index_group(group_names, sizes, {members = group}, name) end
    return {'OK', unranked}
  end
  pass, unranked = pass + 1, 0
end
local place = string.format('building:%d:%d:%s', pass, unranked, found[1])
if place ~= marker then
  redis.call('ZADD', listing, '-inf', place)
  redis.call('ZREM', listing, marker)
end
return {'MORE'}
