-- rerank.lua: apply changed rules to one article.
--
-- KEYS[1]  article:ID         hash  the article
-- KEYS[2]  voted:ID           set   the upvoters
-- KEYS[3]  downvoted:ID       set   the downvoters
-- KEYS[4]  audit:ID           hash  the last vote of each voter; need not exist
-- KEYS[5]  time:              zset  posting times, Unix seconds
-- KEYS[6]  score:             zset  the ranking, Unix seconds
-- KEYS[7]  clock:             hash    fold pointer and peaks of the calendar, and the last hour with a front page
-- KEYS[8]  top:h:HOUR         zset    articles by net votes, of the hour of posting
-- KEYS[9]  top:d:DAY          zset    the same of the day
-- KEYS[10] top:m:MONTH        zset    the same of the 32 days
-- KEYS[11] front:             zset    the front pages of past hours
-- KEYS[12] best:              zset    the best rank of articles
-- KEYS[13] events:            stream  the change feed
-- KEYS[14] group:interesting  set     the interesting articles
-- KEYS[15] score:interesting  zset    its listing by score; need not exist
-- KEYS[16] time:interesting   zset    its listing by time; need not exist
-- ARGV[1]  the article's member
-- ARGV[2]  the ranking, as worth in shared.lua takes it
-- ARGV[3]  voting window, seconds
-- ARGV[4]  how much longer than the window the voters are kept, seconds
-- ARGV[5]  net votes that make an article interesting
-- ARGV[6]  now, Unix seconds; empty: the server's clock
-- ARGV[7]  the features that are on, separated by spaces
--
-- Replies {'OK'}         the article's rank, its membership of the group interesting and the expiry of its
--                        voters follow the rules; a deleted article has only the latter
--         {'NOT_FOUND'}  the article does not exist
-- Safe to run twice: the second run changes nothing.

local article, voted, downvoted, audit = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local times, scores = KEYS[5], KEYS[6]
local member, ranking, window, margin = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local interesting_votes, now = tonumber(ARGV[5]), ARGV[6]
local features = ARGV[7]

local hash = redis.call('HMGET', article, 'votes', 'time', 'deleted')
local votes, deleted = whole(hash[1]), hash[3]
local time = redis.call('ZSCORE', times, member)
if deleted then time = hash[2] end
if not time or not votes then return {'NOT_FOUND'} end
local interesting = groups_at(14, {'interesting'}, features).interesting
check_group(interesting, member)
local calendars = {}
if not deleted and posted_in(KEYS[8], time) then calendars = calendars_at(7, {}, features) end
must_be_allowed('ZADD', scores, 'ZSCORE', scores, 'EXPIRE', voted, 'EXPIRE', downvoted, 'EXPIRE', audit,
  'UNLINK', voted, 'UNLINK', downvoted, 'UNLINK', audit)
must_be_changeable(interesting)

now = now_or(now)
if not deleted then
  keep_front(KEYS[7], KEYS[11], scores, features, now)
  redis.call('ZADD', scores, tonumber(time) + worth(ranking, votes), member)
end
local kept = time_to_keep(time, window, margin, now)
for _, key in ipairs({voted, downvoted, audit}) do
  if kept > 0 then redis.call('EXPIRE', key, kept) else redis.call('UNLINK', key) end -- in the background
end
if deleted then return {'OK'} end
for _, calendar in ipairs(calendars) do schedule(calendar, member, votes) end
if votes >= interesting_votes then
  enter(interesting, member, redis.call('ZSCORE', scores, member), time)
else
  leave(interesting, member)
end
return {'OK'}
