-- adopt.lua: complete an article that only legacy clients wrote, before another script changes it.
--
-- KEYS[1]  article:ID    hash    the article
-- KEYS[2]  voted:ID      set     the upvoters
-- KEYS[3]  time:         zset    posting times, Unix seconds
-- KEYS[4]  posted:NAME   zset    the articles of ARGV[3]
-- KEYS[5]  groups:       zset    the names of all groups
-- KEYS[6]  sizes:        zset    the names of all groups by negated number of articles
-- KEYS[7]  host:NAME     zset    the articles with links to the same host; unused if it has no name
-- KEYS[8]  clock:        hash    fold pointer and peaks of the calendar, and the last hour with a front page
-- KEYS[9]  top:h:HOUR    zset    articles by net votes, of the hour of posting
-- KEYS[10] top:d:DAY     zset    the same of the day
-- KEYS[11] top:m:MONTH   zset    the same of the 32 days
-- KEYS[12] front:        zset    the front pages of past hours
-- KEYS[13] best:         zset    the best rank of articles
-- KEYS[14] events:       stream  the change feed
-- KEYS[15...] group:NAME of each name in ARGV[2]; with group_top, then the four keys of each one's calendar
-- ARGV[1]  the article's member
-- ARGV[2]  the groups in whose sets the caller found the article: sorted names, separated by spaces
-- ARGV[3]  the poster's member as the caller expects it, or empty
-- ARGV[4]  voting window, seconds
-- ARGV[5]  how much longer than the window the voters are kept, seconds
-- ARGV[6]  now, Unix seconds; empty: the server's clock
-- ARGV[7]  the features that are on, separated by spaces
--
-- Replies {'OK'}     the hash lists the groups, after this call or before it
--         {'STALE'}  the article is deleted, not in one of the groups, of another poster or of another posting time:
--                    find the groups again
-- Safe to run twice: the second run finds the groups listed and changes nothing.

local article, voted, times, posted, group_names, sizes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local host = KEYS[7]
local member, groups, expected_poster = ARGV[1], ARGV[2], ARGV[3]
local window, margin, now, features = ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local hash = redis.call('HMGET', article, 'groups', 'poster', 'votes', 'downvotes', 'time')
local time = redis.call('ZSCORE', times, member)
if hash[1] then return {'OK'} end
if not time or not hash[5] or (hash[2] or '') ~= expected_poster then return {'STALE'} end
if features ~= '' and not posted_in(KEYS[9], time) then return {'STALE'} end
local names = words(groups)
for i = 15, #KEYS do
  if i < 15 + #names and redis.call('SISMEMBER', KEYS[i], member) == 0 then return {'STALE'} end
end

-- Legacy clients count the poster's vote as the first, so it is known without the set of voters.
local kept = time_to_keep(time, window, margin, now_or(now))
local knows_voter = tonumber(hash[3] or '0') == 1 and not hash[4] and kept >= tonumber(margin) and redis.call('SCARD', voted) == 0
local groups_of = {} -- their keys follow those of the sets
for i = 1, string.find(features, 'group_top', 1, true) and #names or 0 do
  groups_of[i] = {calendar = calendar_at(11 + #names + 4 * i)}
end
local votes = whole(hash[3] or '0')
local calendars = votes and calendars_at(8, groups_of, features) or {} -- other scripts report votes that are no number
must_be_zset(posted, host, group_names, sizes)
must_be_allowed('ZADD', posted, 'ZADD', group_names, 'ZREM', group_names, 'ZADD', sizes, 'ZREM', sizes)
if has_name(host) then must_be_allowed('ZADD', host) end
if knows_voter then must_be_allowed('SADD', voted, 'EXPIRE', voted) end

redis.call('HSET', article, 'groups', groups, 'downvotes', hash[4] or 0)
redis.call('ZADD', posted, time, member)
if has_name(host) then redis.call('ZADD', host, time, member) end
for i, name in ipairs(names) do index_group(group_names, sizes, {members = KEYS[i + 14]}, name) end
for _, calendar in ipairs(calendars) do schedule(calendar, member, votes) end
if knows_voter then
  redis.call('SADD', voted, expected_poster)
  redis.call('EXPIRE', voted, kept)
end
return {'OK'}
