-- listing.lua: read a part of a listing, by rank or by the places of articles.
-- A group's listing is built when there is none.
--
-- KEYS[1]  the listing         zset  of all articles, of one poster, or of a group
-- KEYS[2]  group:NAME          set   the group's articles; the last three are for a group only
-- KEYS[3]  score: or time:     zset  the ranking of all articles in the same order
-- KEYS[4]  groups:             zset  the names of all groups
-- ARGV[1]  REV for the highest first, or empty
-- ARGV[2]  most articles to reply
-- ARGV[3]  FIRST or LAST: from which end of the part they are taken
-- ARGV[4]  articles to pass over at the beginning of the listing
-- ARGV[5]  score of a place to start behind, or empty
-- ARGV[6]  and its member, which need not be in the listing
-- ARGV[7]  score of a place to end in front of, or empty
-- ARGV[8]  and its member, which need not be in the listing
-- ARGV[9]  how long a group's listing is kept after its last use, milliseconds
-- ARGV[10] the group's name, or empty when it is not to be entered in KEYS[4]
--
-- Replies {rank of the first replied, size of the listing, member, score, ...}
-- Safe to run twice: it changes nothing but what can be built again.

local listing, group, ranking = KEYS[1], KEYS[2], KEYS[3]
local reverse = ARGV[1] == 'REV'
local most = tonumber(ARGV[2])

local function range(first, last)
  if reverse then return redis.call('ZRANGE', listing, first, last, 'REV', 'WITHSCORES') end
  return redis.call('ZRANGE', listing, first, last, 'WITHSCORES')
end

-- place tells how many members come before (score, member), and whether that
-- itself is in the listing, as 0 or 1. Members of one score are sorted by their
-- bytes: a member that is not among them has its place found by halving.
local function place(score, member)
  local found = redis.call('ZSCORE', listing, member)
  if found and tonumber(found) == tonumber(score) then
    return redis.call(reverse and 'ZREVRANK' or 'ZRANK', listing, member), 1
  end
  local low
  if reverse then
    low = redis.call('ZCOUNT', listing, '(' .. score, '+inf')
  else
    low = redis.call('ZCOUNT', listing, '-inf', '(' .. score)
  end
  local high = low + redis.call('ZCOUNT', listing, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = range(middle, middle)[1]
    local first = reverse and by_bytes(member, other) or not reverse and by_bytes(other, member)
    if first then low = middle + 1 else high = middle end
  end
  return low, 0
end

local function read()
  local size = redis.call('ZCARD', listing)
  local start, stop = tonumber(ARGV[4]), size
  if ARGV[5] ~= '' then
    local before, itself = place(ARGV[5], ARGV[6])
    start = before + itself
  end
  if ARGV[7] ~= '' then stop = place(ARGV[7], ARGV[8]) end
  if ARGV[3] == 'LAST' then
    start = math.max(start, stop - most)
  else
    stop = math.min(stop, start + most)
  end
  local page = start < stop and range(start, stop - 1) or {}
  table.insert(page, 1, size)
  table.insert(page, 1, start)
  return page
end

if not group then return read() end

-- foreign tells whether somebody wrote beside these scripts, as the book's code
-- does: by the size of the group, and by the articles that are about to be shown.
local function foreign(page)
  if page[2] ~= redis.call('SCARD', group) then return true end
  for i = 3, #page, 2 do
    if redis.call('ZSCORE', ranking, page[i]) ~= page[i + 1] then return true end
    if redis.call('SISMEMBER', group, page[i]) == 0 then return true end
  end
  return false
end

-- The kept time is renewed, and the listing compared, once a second at most:
-- a listing that is read all the time is not written all the time.
local ttl = tonumber(ARGV[9])
local left = redis.call('PTTL', listing)
local page = left > 0 and read()
if page and left > ttl - math.min(1000, ttl / 10) then return page end

if not page or foreign(page) then
  -- Weight 0 for the group: the book's AGGREGATE MAX lifts scores below 1 to 1.
  redis.call('ZINTERSTORE', listing, 2, group, ranking, 'WEIGHTS', 0, 1)
  if ARGV[10] ~= '' and redis.call('SCARD', group) > 0 then redis.call('ZADD', KEYS[4], 0, ARGV[10]) end
  page = read()
end
redis.call('PEXPIRE', listing, ttl)
return page
