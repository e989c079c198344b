-- frontpage.lua: read the front pages of consecutive full hours in one partition.
--
-- uses now whole front
-- KEY clock   clock:  hash  fields front and front_since: the last hour that is saved, and the first one that is known
-- KEY pages   front:  zset  the saved pages by hour, see front.lua
-- KEY scores  score:  zset  the ranking, Unix seconds
-- ARG first   the first hour, hours since 1970
-- ARG last    the last hour; empty: the last full one
-- ARG now     now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', first, last, page, ...}  the hours from first to last that are known and not in the future, none if first is above
--                        last, and their pages, the oldest first: each is that of its hour, and of the hours before it
--                        back to the page before
--         {'NONE'}       no page is known
-- Safe to run twice: it changes nothing.

first, last = tonumber(first), tonumber(last)

local known = redis.call('HMGET', clock, 'front', 'front_since')
local saved, since = whole(known[1]), whole(known[2])
if not saved or not since then return {'NONE'} end
local hour = math.floor(tonumber(now_or(now)) / 3600)
first, last = math.max(first, since), math.min(last or hour, hour)
local reply = {'OK', first, last}
if first > last then return reply end

for _, page in ipairs(redis.call('ZRANGE', pages, first, last, 'BYSCORE')) do reply[#reply + 1] = page end
if #reply == 3 or whole(string.match(reply[#reply], '^%d+')) ~= last then
  -- Nothing has changed since the last hour until the next page, or until now.
  local next_page = redis.call('ZRANGE', pages, last, '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  reply[#reply + 1] = next_page or front_page(scores, hour)
end
return reply
