-- adopt.lua: complete an article that only legacy clients wrote, before another script changes it.
--
-- uses types names now whole voter_sets index_group append
-- KEY article          article:ID   hash    the article
-- KEY voted            voted:ID     set     the upvoters
-- KEY times            time:        zset    posting times, Unix seconds
-- KEY group_names      groups:      zset    the names of all groups
-- KEY sizes            sizes:       zset    the names of all groups by negated number of articles
-- KEY events           events:      stream  the log
-- KEY views            views:       hash    the number of entries that are no events
-- KEYS list            posted:NAME of expected_poster and host:NAME of the link, zsets: its lists by posting time; then
--                      group:NAME of each name in groups
-- ARG member           the article's member
-- ARG groups           the groups in whose sets the caller found the article: sorted names, separated by spaces
-- ARG expected_poster  the poster's member as the caller expects it, or empty
-- ARG window           voting window, seconds
-- ARG margin           how much longer than the window the voters are kept, seconds
-- ARG now              now, Unix seconds; empty: the server's clock
-- ARG list_count       how many lists there are
--
-- Replies {'OK'}     the hash lists the groups, after this call or before it
--         {'STALE'}  the article is deleted, not in one of the groups, or of another poster: find the groups again
-- Safe to run twice: the second run finds the groups listed and changes nothing.

local hash = redis.call('HMGET', article, 'groups', 'poster', 'votes', 'downvotes', 'time')
local time = redis.call('ZSCORE', times, member)
if hash[1] then return {'OK'} end
if not time or not hash[5] or (hash[2] or '') ~= expected_poster then return {'STALE'} end
local names, first_group = words(groups), first_list + list_count
for i = 1, #names do
  if redis.call('SISMEMBER', KEYS[first_group + i - 1], member) == 0 then return {'STALE'} end
end

-- Legacy clients count the poster's vote as the first, so it is known without the set of voters.
now = now_or(now)
local kept = time_to_keep(time, window, margin, now)
local knows_voter = tonumber(hash[3] or '0') == 1 and not hash[4] and kept >= tonumber(margin) and redis.call('SCARD', voted) == 0
local votes = whole(hash[3] or '0') -- other scripts report votes that are no number

redis.call('HSET', article, 'groups', groups, 'downvotes', hash[4] or 0)
for i = first_list, first_group - 1 do redis.call('ZADD', KEYS[i], time, member) end
for i, name in ipairs(names) do index_group(group_names, sizes, {members = KEYS[first_group + i - 1]}, name) end
if knows_voter then
  redis.call('SADD', voted, expected_poster)
  redis.call('EXPIRE', voted, kept)
end
if votes then notice(events, views, member, votes, time, groups, now) end
return {'OK'}
