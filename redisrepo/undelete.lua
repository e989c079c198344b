-- undelete.lua: restore a deleted article to the listings and groups from which delete.lua removed it,
-- with the rank that its votes give it.
--
-- KEYS[1]  article:ID    hash    the article
-- KEYS[2]  time:         zset    posting times, Unix seconds
-- KEYS[3]  score:        zset    the ranking, Unix seconds
-- KEYS[4]  groups:       zset    the names of all groups
-- KEYS[5]  posted:NAME   zset    the articles of ARGV[4]; unused if that is not the poster
-- KEYS[6]  deleted:      zset    the deleted articles by time of deletion, Unix seconds
-- KEYS[7]  moderation:   stream  the moderation log
-- KEYS[8]  changes:      channel  on which the undeletion is published
-- KEYS[9]  sizes:        zset    the names of all groups by negated number of articles
-- KEYS[10] link:DIGEST   string  the article that the link of ARGV[10] is reserved for; need not exist
-- KEYS[11] host:NAME     zset    the articles with links to the host of ARGV[10]; unused if it has no name
-- KEYS[12] clock:        hash    fold pointer and peaks of the calendar, and the last hour with a front page
-- KEYS[13] top:h:HOUR    zset    articles by net votes, of the hour of posting
-- KEYS[14] top:d:DAY     zset    the same of the day
-- KEYS[15] top:m:MONTH   zset    the same of the 32 days
-- KEYS[16] front:        zset    the front pages of past hours
-- KEYS[17] best:         zset    the best rank of articles
-- KEYS[18] events:       stream  the change feed
-- KEYS[19...] three keys of the group interesting, then of each name in ARGV[3]; with group_top, then four of each
-- ARGV[1]  the article's member
-- ARGV[2]  the moderator's member
-- ARGV[3]  the article's groups as the caller expects them: sorted names, separated by spaces
-- ARGV[4]  the poster's member as the caller expects it, or empty
-- ARGV[5]  the ranking, as worth in shared.lua takes it
-- ARGV[6]  net votes that make an article interesting
-- ARGV[7]  approximate maximum number of entries in the log
-- ARGV[8]  now, Unix seconds; empty: the server's clock
-- ARGV[9]  the member of the service that acts for ARGV[2], or empty
-- ARGV[10] the article's link as the caller expects it; empty: it has none
-- ARGV[11] the features that are on, separated by spaces
--
-- Replies {'OK', {field, value, ...}}  the hash of the article, which is not deleted
--         {'NOT_FOUND'}                the article does not exist
--         {'STALE', groups, poster, link, time}  ARGV[3], [4] and [10] differ from these, or the keys from those of this
--                                      posting time: call again with them
-- Safe to run twice: the second run finds the article restored and changes nothing.

local article, times, scores, group_names = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local posted, deleted, log, changes, sizes = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local member, by, expected_groups, expected_poster = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local ranking, interesting_votes, max_entries = ARGV[5], tonumber(ARGV[6]), ARGV[7]
local now, via = ARGV[8], ARGV[9]
local link_record, host, expected_link, features = KEYS[10], KEYS[11], ARGV[10], ARGV[11]

local hash = redis.call('HMGET', article,
  'groups', 'poster', 'time', 'votes', 'downvotes', 'revision', 'deleted', 'title', 'link')
local listed = redis.call('ZSCORE', times, member)
if not hash[3] or not hash[7] and not listed then return {'NOT_FOUND'} end
if not hash[7] then return {'OK', redis.call('HGETALL', article)} end
local time, group_text, poster = hash[3], hash[1] or '', hash[2] or ''
local votes, downvotes = whole(hash[4] or '0'), whole(hash[5] or '0')
if not tonumber(time) or not votes or not downvotes or not whole(hash[6] or '0') then
  return redis.error_reply('CORRUPT time, votes or revision of ' .. member)
end
local link = hash[9] or ''
if group_text ~= expected_groups or poster ~= expected_poster or link ~= expected_link
  or features ~= '' and not posted_in(KEYS[13], time) then
  return {'STALE', group_text, poster, link, time}
end

local names = words(group_text)
local groups = groups_at(19, {'interesting', unpack(names)}, features)
for _, group in pairs(groups) do check_group(group, member) end
local calendars = calendars_at(12, groups, features)
must_be_zset(scores, group_names, sizes, posted, host, deleted)
must_be_stream(log)
local freed = redis.call('GET', link_record) == member .. ' 0' -- by delete.lua, and not posted again since
if freed then must_be_allowed('SET', link_record) end
if has_name(host) then must_be_allowed('ZADD', host) end
must_be_allowed(publication(changes), changes, 'HDEL', article, 'HINCRBY', article, 'ZADD', times, 'ZADD', scores,
  'ZADD', posted, 'ZADD', group_names, 'ZADD', sizes, 'ZREM', deleted, 'XADD', log, 'ZSCORE', scores, 'HGETALL', article)
for _, group in pairs(groups) do must_be_changeable(group) end
local max_events = must_take_events(KEYS[18], features)

keep_front(KEYS[12], KEYS[16], scores, features, now_or(now))
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
redis.call('HDEL', article, 'deleted', 'deleted_by')
redis.call('ZREM', deleted, member)
if freed then redis.call('SET', link_record, member .. ' ' .. time, 'KEEPTTL') end
log_moderation(log, max_entries, 'undeleted', member, by, via, now_or(now), 'title', hash[8] or '', 'link', link)
local revision = redis.call('HINCRBY', article, 'revision', 1)
publish(changes, 'undeleted', member, revision, votes, downvotes, score, group_text)
tell(KEYS[18], max_events, 'undeleted', member, revision, votes, downvotes, score, by, group_text)

return {'OK', redis.call('HGETALL', article)}
