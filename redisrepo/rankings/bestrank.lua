-- bestrank.lua: enter the ranks of some hours into the best ranks of one partition's articles.
--
-- uses types
-- KEY best    best:   zset  article:ID by best rank * 10,000,000 + the first hour in which it had that
-- KEY clock   clock:  hash  its field ranked is the last hour that is entered
-- ARG before  the last hour that was entered before, as the caller read it; empty: none
-- ARG last    the last hour that is entered now
-- ARGS rank   two for each article with a rank in these hours: its score in the key best, and its member
--
-- Replies {'OK'}     the hours are entered
--         {'STALE'}  other hours were entered since the caller read before; nothing is written
-- Safe to run twice: the second run replies STALE.

if (redis.call('HGET', clock, 'ranked') or '') ~= before then return {'STALE'} end
for i = first_rank, #ARGV, 2 do redis.call('ZADD', best, 'LT', ARGV[i], ARGV[i + 1]) end
redis.call('HSET', clock, 'ranked', last)
return {'OK'}
