-- frontpage.lua: read the front pages of consecutive full hours in one partition.
--
-- KEYS[1]  clock:  hash  fields front and front_since: the last hour that is saved, and the first one that is known
-- KEYS[2]  front:  zset  the saved pages by hour, see front_page in shared.lua
-- KEYS[3]  score:  zset  the ranking, Unix seconds
-- ARGV[1]  the first hour, hours since 1970
-- ARGV[2]  the last hour; empty: the last full one
-- ARGV[3]  now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', first, last, page, ...}  the hours of ARGV that are known and not in the future, none if first is above
--                        last, and their pages, the oldest first: each is that of its hour, and of the hours before it
--                        back to the page before
--         {'NONE'}       no page is known
-- Safe to run twice: it changes nothing.

local clock, pages, scores = KEYS[1], KEYS[2], KEYS[3]
local first, last, now = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

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
