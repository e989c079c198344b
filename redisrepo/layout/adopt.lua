-- adopt.lua: complete an article that only legacy clients wrote, before another script changes it.
--
-- uses names now whole types allowed voter_sets lists_at index_group groups hour calendar
-- KEY article          article:ID   hash    the article
-- KEY voted            voted:ID     set     the upvoters
-- KEY times            time:        zset    posting times, Unix seconds
-- KEY group_names      groups:      zset    the names of all groups
-- KEY sizes            sizes:       zset    the names of all groups by negated number of articles
-- KEY clock            clock:       hash    peaks and fold pointer of the calendar, and the last front page
-- KEY hours            top:h:HOUR   zset    articles by net votes, of the hour of posting
-- KEY days             top:d:DAY    zset    the same of the day
-- KEY months           top:m:MONTH  zset    the same of the 32 days
-- KEY pages            front:       zset    the front pages of past hours; unused
-- KEY best             best:        zset    the best rank of articles; unused
-- KEY events           events:      stream  the change feed; unused
-- KEYS list            posted:NAME of expected_poster and host:NAME of the link, zsets: its lists by posting time; then
--                      group:NAME of each name in groups; with group_top, then the four keys of each one's calendar
-- ARG member           the article's member
-- ARG groups           the groups in whose sets the caller found the article: sorted names, separated by spaces
-- ARG expected_poster  the poster's member as the caller expects it, or empty
-- ARG window           voting window, seconds
-- ARG margin           how much longer than the window the voters are kept, seconds
-- ARG now              now, Unix seconds; empty: the server's clock
-- ARG features         the features that are on, separated by spaces
-- ARG list_count       how many lists there are
--
-- Replies {'OK'}     the hash lists the groups, after this call or before it
--         {'STALE'}  the article is deleted, not in one of the groups, of another poster or of another posting time:
--                    find the groups again
-- Safe to run twice: the second run finds the groups listed and changes nothing.

local hash = redis.call('HMGET', article, 'groups', 'poster', 'votes', 'downvotes', 'time')
local time = redis.call('ZSCORE', times, member)
if hash[1] then return {'OK'} end
if not time or not hash[5] or (hash[2] or '') ~= expected_poster then return {'STALE'} end
if features ~= '' and not posted_in(hours, time) then return {'STALE'} end
local names, first_group = words(groups), first_list + list_count
for i = 1, #names do
  if redis.call('SISMEMBER', KEYS[first_group + i - 1], member) == 0 then return {'STALE'} end
end

-- Legacy clients count the poster's vote as the first, so it is known without the set of voters.
local kept = time_to_keep(time, window, margin, now_or(now))
local knows_voter = tonumber(hash[3] or '0') == 1 and not hash[4] and kept >= tonumber(margin) and redis.call('SCARD', voted) == 0
local groups_of = {} -- their keys follow those of the sets
for i = 1, string.find(features, 'group_top', 1, true) and #names or 0 do
  groups_of[i] = {calendar = calendar_at(first_group + #names + 4 * (i - 1))}
end
local votes = whole(hash[3] or '0')
local calendars = votes and calendars_of({clock = clock, hours = hours, days = days, months = months}, groups_of, features) or {} -- other scripts report votes that are no number
must_be_zset(group_names, sizes)
must_be_allowed('ZADD', group_names, 'ZREM', group_names, 'ZADD', sizes, 'ZREM', sizes)
local lists = lists_at(first_list, list_count, 'ZADD')
if knows_voter then must_be_allowed('SADD', voted, 'EXPIRE', voted) end

redis.call('HSET', article, 'groups', groups, 'downvotes', hash[4] or 0)
for _, list in ipairs(lists) do redis.call('ZADD', list, time, member) end
for i, name in ipairs(names) do index_group(group_names, sizes, {members = KEYS[first_group + i - 1]}, name) end
for _, calendar in ipairs(calendars) do schedule(calendar, member, votes) end
if knows_voter then
  redis.call('SADD', voted, expected_poster)
  redis.call('EXPIRE', voted, kept)
end
return {'OK'}
