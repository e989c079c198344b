-- put.lua: store an article of an export, with all that its hash had. Its voters are there already.
--
-- KEYS[1]  article:ID   hash     the article, new
-- KEYS[2]  time:        zset     posting times, Unix seconds
-- KEYS[3]  score:       zset     the ranking, Unix seconds
-- KEYS[4]  groups:      zset     the names of all groups
-- KEYS[5]  posted:NAME  zset     the poster's articles
-- KEYS[6]  deleted:     zset     the deleted articles by time of deletion, Unix seconds
-- KEYS[7]  changes:     channel  on which an article that is not deleted is published
-- KEYS[8]  sizes:       zset     the names of all groups by negated number of articles
-- KEYS[9]  host:NAME    zset     the articles with links to the same host; unused if it has no name
-- KEYS[10] clock:        hash     fold pointer and peaks of the calendar, and the last hour with a front page
-- KEYS[11] top:h:HOUR    zset     articles by net votes, of the hour of posting
-- KEYS[12] top:d:DAY     zset     the same of the day
-- KEYS[13] top:m:MONTH   zset     the same of the 32 days
-- KEYS[14] front:        zset     the front pages of past hours
-- KEYS[15] best:         zset     the best rank of articles
-- KEYS[16] events:       stream   the change feed
-- KEYS[17...] three keys of the group interesting, then of each name in ARGV[8]; with group_top, then four of each
-- ARGV[1]  the article's member
-- ARGV[2]  posting time, Unix seconds
-- ARGV[3]  net votes
-- ARGV[4]  downvotes
-- ARGV[5]  revision
-- ARGV[6]  the ranking, as worth in shared.lua takes it
-- ARGV[7]  net votes that make an article interesting
-- ARGV[8]  its groups: sorted names, separated by spaces
-- ARGV[9]  time of deletion, Unix seconds; empty: it is not deleted
-- ARGV[10] the features that are on, separated by spaces
-- ARGV[11] now, Unix seconds; empty: the server's clock
-- ARGV[12...] all fields of the hash and their values, in turn
--
-- Replies {'STORED'}  the article exists, since this call or before
-- Safe to run twice: the second run finds the article and changes nothing.

local article, times, scores, group_names, posted = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local deleted, changes, sizes, host = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local member, time, votes, downvotes, revision = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local ranking, interesting_votes, group_text, deleted_at = ARGV[6], tonumber(ARGV[7]), ARGV[8], ARGV[9]
local features, now = ARGV[10], ARGV[11]

if redis.call('EXISTS', article) == 1 then return {'STORED'} end
local names = words(group_text)
local groups = groups_at(17, {'interesting', unpack(names)}, features)
for _, group in pairs(groups) do check_group(group, member) end
local calendars = calendars_at(10, groups, features)
must_be_zset(times, scores, group_names, sizes, posted, host, deleted)
must_be_allowed(publication(changes), changes, 'HSET', article, 'ZADD', times, 'ZADD', scores, 'ZADD', posted,
  'ZADD', group_names, 'ZADD', sizes, 'ZADD', deleted, 'ZSCORE', scores)
if has_name(host) then must_be_allowed('ZADD', host) end
for _, group in pairs(groups) do must_be_changeable(group) end

local fields = {}
for i = 12, #ARGV do fields[#fields + 1] = ARGV[i] end
keep_front(KEYS[10], KEYS[14], scores, features, now_or(now))
redis.call('HSET', article, unpack(fields))
if deleted_at ~= '' then
  redis.call('ZADD', deleted, deleted_at, member)
  return {'STORED'}
end
redis.call('ZADD', times, time, member)
redis.call('ZADD', scores, tonumber(time) + worth(ranking, votes), member)
redis.call('ZADD', posted, time, member)
if has_name(host) then redis.call('ZADD', host, time, member) end
local score = redis.call('ZSCORE', scores, member)
for _, name in ipairs(names) do
  enter(groups[name], member, score, time)
  index_group(group_names, sizes, groups[name], name)
end
if votes >= interesting_votes then enter(groups.interesting, member, score, time) end
for _, calendar in ipairs(calendars) do schedule(calendar, member, votes) end
publish(changes, 'imported', member, revision, votes, downvotes, score, group_text)
return {'STORED'}
