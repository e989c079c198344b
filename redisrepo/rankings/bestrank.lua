-- bestrank.lua: enter the ranks of some hours into the best ranks of one partition's articles.
--
-- KEYS[1]  best:   zset  article:ID by best rank * 10,000,000 + the first hour in which it had that
-- KEYS[2]  clock:  hash  its field ranked is the last hour that is entered
-- ARGV[1]  the last hour that was entered before, as the caller read it; empty: none
-- ARGV[2]  the last hour that is entered now
-- ARGV[3...] two for each article with a rank in these hours: its score in KEYS[1], and its member
--
-- Replies {'OK'}     the hours are entered
--         {'STALE'}  other hours were entered since the caller read ARGV[1]; nothing is written
-- Safe to run twice: the second run replies STALE.

local best, clock = KEYS[1], KEYS[2]
local before, last = ARGV[1], ARGV[2]

if (redis.call('HGET', clock, 'ranked') or '') ~= before then return {'STALE'} end
must_be_zset(best)
must_be_allowed('ZADD', best, 'HSET', clock)
for i = 3, #ARGV, 2 do redis.call('ZADD', best, 'LT', ARGV[i], ARGV[i + 1]) end
redis.call('HSET', clock, 'ranked', last)
return {'OK'}
