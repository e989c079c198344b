-- rerank.lua: bring one article under rules that were changed.
--
-- KEYS[1]  article:ID         hash  the article
-- KEYS[2]  voted:ID           set   who voted up
-- KEYS[3]  downvoted:ID       set   who voted down
-- KEYS[4]  audit:ID           hash  how they voted last; need not exist
-- KEYS[5]  time:              zset  posting times, Unix seconds
-- KEYS[6]  score:             zset  the ranking, Unix seconds
-- KEYS[7]  group:interesting  set   the articles with many votes
-- KEYS[8]  score:interesting  zset  its listing by score; need not exist
-- KEYS[9]  time:interesting   zset  its listing by time; need not exist
-- ARGV[1]  the article's member
-- ARGV[2]  worth of one vote, seconds
-- ARGV[3]  voting window, seconds
-- ARGV[4]  how much longer the voters are kept, seconds
-- ARGV[5]  net votes that make an article interesting
-- ARGV[6]  now, Unix seconds; empty: the server's clock
--
-- Replies {'OK'}         its rank, its voters' time and its being interesting are as the rules say;
--                        a deleted article has no rank, and its voters' time only is
--         {'NOT_FOUND'}  no such article
-- Safe to run twice: the second run finds everything as it should be.

local member = ARGV[1]
local hash = redis.call('HMGET', KEYS[1], 'votes', 'time', 'deleted')
local votes, deleted = whole(hash[1]), hash[3]
local time = redis.call('ZSCORE', KEYS[5], member)
if deleted then time = hash[2] end
if not time or not votes then return {'NOT_FOUND'} end
local interesting = groups_at(7, {'interesting'}).interesting
touch(interesting, member)

if not deleted then
  redis.call('ZADD', KEYS[6], tonumber(time) + tonumber(ARGV[2]) * votes, member)
end
local left = math.ceil(tonumber(time) + tonumber(ARGV[3]) + tonumber(ARGV[4]) - now_or(ARGV[6]))
for _, voters in ipairs({KEYS[2], KEYS[3], KEYS[4]}) do redis.call('EXPIRE', voters, left) end
if deleted then return {'OK'} end
if votes >= tonumber(ARGV[5]) then
  enter(interesting, member, redis.call('ZSCORE', KEYS[6], member), time)
else
  leave(interesting, member)
end
return {'OK'}
