-- rerank.lua: apply changed rules to one article.
--
-- uses types now whole voter_sets groups leave worth keep_front
-- KEY article            article:ID         hash    the article
-- KEY voted              voted:ID           set     the upvoters
-- KEY downvoted          downvoted:ID       set     the downvoters
-- KEY audit              audit:ID           hash    the last vote of each voter; need not exist
-- KEY times              time:              zset    posting times, Unix seconds
-- KEY scores             score:             zset    the ranking, Unix seconds
-- KEY clock              clock:             hash    the last hour with a front page
-- KEY pages              front:             zset    the front pages of past hours
-- KEY members            group:interesting  set     the interesting articles
-- KEY by_score           score:interesting  zset    its listing by score; need not exist
-- KEY by_time            time:interesting   zset    its listing by time; need not exist
-- ARG member             the article's member
-- ARG ranking            the ranking, as worth.lua takes it
-- ARG window             voting window, seconds
-- ARG margin             how much longer than the window the voters are kept, seconds
-- ARG interesting_votes  net votes that make an article interesting
-- ARG now                now, Unix seconds; empty: the server's clock
-- ARG features           the features that are on, separated by spaces
--
-- Replies {'OK'}         the article's rank, its membership of the group interesting and the expiry of its
--                        voters follow the rules; a deleted article has only the latter
--         {'NOT_FOUND'}  the article does not exist
-- Safe to run twice: the second run changes nothing.

interesting_votes = tonumber(interesting_votes)

local hash = redis.call('HMGET', article, 'votes', 'time', 'deleted')
local votes, is_deleted = whole(hash[1]), hash[3]
local time = redis.call('ZSCORE', times, member)
if is_deleted then time = hash[2] end
if not time or not votes then return {'NOT_FOUND'} end
local interesting = read_group(members, by_score, by_time, member)

now = now_or(now)
if not is_deleted then
  keep_front(clock, pages, scores, features, now)
  redis.call('ZADD', scores, tonumber(time) + worth(ranking, votes), member)
end
local kept = time_to_keep(time, window, margin, now)
for _, key in ipairs({voted, downvoted, audit}) do
  if kept > 0 then redis.call('EXPIRE', key, kept) else redis.call('UNLINK', key) end -- in the background
end
if is_deleted then return {'OK'} end
if votes >= interesting_votes then
  enter(interesting, member, redis.call('ZSCORE', scores, member), time)
else
  leave(interesting, member)
end
return {'OK'}
