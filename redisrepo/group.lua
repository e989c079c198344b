-- group.lua: read a part of a group's listing; build it when there is none.
--
-- KEYS[1]  score:NAME or time:NAME  zset  the listing
-- KEYS[2]  group:NAME               set   the group's articles
-- KEYS[3]  score: or time:          zset  the ranking of all articles in the same order
-- KEYS[4]  groups:                  zset  the names of all groups
-- ARGV[1]  how long the listing is kept after its last use, milliseconds
-- ARGV[2]  first rank, from 0
-- ARGV[3]  last rank, -1 for the end
-- ARGV[4]  REV for the highest first, or empty
-- ARGV[5]  the group's name, or empty when it is not to be entered in KEYS[4]
--
-- Replies {member, score, ...}  in order; none when the group is empty
-- Safe to run twice: it changes nothing but what can be built again.

local listing, group, ranking = KEYS[1], KEYS[2], KEYS[3]
local ttl = tonumber(ARGV[1])

local function read()
  if ARGV[4] == 'REV' then return redis.call('ZRANGE', listing, ARGV[2], ARGV[3], 'REV', 'WITHSCORES') end
  return redis.call('ZRANGE', listing, ARGV[2], ARGV[3], 'WITHSCORES')
end

-- foreign tells whether somebody wrote beside these scripts, as the book's code
-- does: by the size of the group, and by the articles that are about to be shown.
local function foreign(page)
  if redis.call('ZCARD', listing) ~= redis.call('SCARD', group) then return true end
  for i = 1, #page, 2 do
    if redis.call('ZSCORE', ranking, page[i]) ~= page[i + 1] then return true end
    if redis.call('SISMEMBER', group, page[i]) == 0 then return true end
  end
  return false
end

-- The kept time is renewed, and the listing compared, once a second at most:
-- a listing that is read all the time is not written all the time.
local left = redis.call('PTTL', listing)
local page = left > 0 and read() or {}
if left > ttl - math.min(1000, ttl / 10) then return page end

if left <= 0 or foreign(page) then
  -- Weight 0 for the group: the book's AGGREGATE MAX lifts scores below 1 to 1.
  redis.call('ZINTERSTORE', listing, 2, group, ranking, 'WEIGHTS', 0, 1)
  if ARGV[5] ~= '' and redis.call('SCARD', group) > 0 then redis.call('ZADD', KEYS[4], 0, ARGV[5]) end
  page = read()
end
redis.call('PEXPIRE', listing, ttl)
return page
