-- delete.lua: remove one article from all listings and groups. Its hash and its voters stay, so that
-- undelete.lua can restore it.
--
-- KEYS[1]  article:ID    hash    the article
-- KEYS[2]  time:         zset    posting times, Unix seconds
-- KEYS[3]  score:        zset    the ranking, Unix seconds
-- KEYS[4]  groups:       zset    the names of all groups
-- KEYS[5]  posted:NAME   zset    the articles of ARGV[5]; unused if that is not the poster
-- KEYS[6]  deleted:      zset    the deleted articles by time of deletion, Unix seconds
-- KEYS[7]  moderation:   stream  the moderation log
-- KEYS[8]  changes:      channel  on which the deletion is published
-- KEYS[9]  sizes:        zset    the names of all groups by negated number of articles
-- KEYS[10] voted:ID      set     the upvoters
-- KEYS[11] downvoted:ID  set     the downvoters
-- KEYS[12] link:DIGEST   string  the article that the link of ARGV[9] is reserved for; need not exist
-- KEYS[13] host:NAME     zset    the articles with links to the host of ARGV[9]; unused if it has no name
-- KEYS[14] clock:        hash    fold pointer and peaks of the calendar, and the last hour with a front page
-- KEYS[15] top:h:HOUR    zset    articles by net votes, of the hour of posting
-- KEYS[16] top:d:DAY     zset    the same of the day
-- KEYS[17] top:m:MONTH   zset    the same of the 32 days
-- KEYS[18] front:        zset    the front pages of past hours
-- KEYS[19] best:         zset    the best rank of articles
-- KEYS[20] events:       stream  the change feed
-- KEYS[21...] three keys of the group interesting, then of each name in ARGV[4]; with group_top, then four of each
-- ARGV[1]  the article's member
-- ARGV[2]  the actor's member
-- ARGV[3]  1 if the actor is a moderator, who may delete the articles of others, else 0
-- ARGV[4]  the article's groups as the caller expects them: sorted names, separated by spaces
-- ARGV[5]  the poster's member as the caller expects it, or empty
-- ARGV[6]  approximate maximum number of entries in the log
-- ARGV[7]  now, Unix seconds; empty: the server's clock
-- ARGV[8]  the member of the service that acts for ARGV[2], or empty
-- ARGV[9]  the article's link as the caller expects it; empty: it has none
-- ARGV[10] the reason for the log; may be empty
-- ARGV[11] the features that are on, separated by spaces
--
-- The link of an article that its poster deletes can be posted again if no other user has a vote on it.
--
-- Replies {'OK', {field, value, ...}}  the hash of the article, deleted by this call or before
--         {'NOT_FOUND'}                the article does not exist, or is deleted and the actor may not see it
--         {'FORBIDDEN'}                the actor is neither the poster nor a moderator
--         {'STALE', groups, poster, link, time}  ARGV[4], [5] and [9] differ from these, or the keys from those of this
--                                      posting time: call again with them
--         {'UNLISTED', poster, time}   the hash does not list the groups: call adopt.lua, and again
-- Safe to run twice: the second run finds the article deleted and changes nothing.

local article, times, scores, group_names = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local posted, deleted, log, changes, sizes = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local member, by, is_moderator = ARGV[1], ARGV[2], ARGV[3] == '1'
local expected_groups, expected_poster, max_entries, now, via = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local voted, downvoted, link_record, host = KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local expected_link, reason, features = ARGV[9], ARGV[10], ARGV[11]

local hash = redis.call('HMGET', article,
  'groups', 'poster', 'time', 'votes', 'downvotes', 'revision', 'deleted', 'title', 'link', 'uncounted')
local time, score = redis.call('ZSCORE', times, member), redis.call('ZSCORE', scores, member)
local poster = hash[2] or ''
local may = is_moderator or poster == by
if hash[7] and may then return {'OK', redis.call('HGETALL', article)} end
if not hash[3] or not time or not score or hash[7] then return {'NOT_FOUND'} end
if not may then return {'FORBIDDEN'} end
local votes, downvotes = whole(hash[4] or '0'), whole(hash[5] or '0')
if not votes or not downvotes or not whole(hash[6] or '0') then
  return redis.error_reply('CORRUPT votes or revision of ' .. member)
end

if not hash[1] then return {'UNLISTED', poster, time} end
local link, own = hash[9] or '', poster == by
if hash[1] ~= expected_groups or poster ~= expected_poster or link ~= expected_link
  or features ~= '' and not posted_in(KEYS[15], time) then
  return {'STALE', hash[1], poster, link, time}
end

local names = words(expected_groups)
table.insert(names, 1, 'interesting')
local groups = groups_at(21, names, features)
for _, name in ipairs(names) do check_group(groups[name], member) end
local calendars = calendars_at(14, groups, features)
must_be_zset(group_names, sizes, posted, host, deleted)
must_be_stream(log)
local frees = false
if own and link ~= '' then
  local votes_of_poster = redis.call('SISMEMBER', voted, by) + redis.call('SISMEMBER', downvoted, by)
  local counted = hash[10] == '1' and 0 or votes_of_poster
  local alone = redis.call('SCARD', voted) + redis.call('SCARD', downvoted) == votes_of_poster
  local first = string.match(redis.call('GET', link_record) or '', '^(%S+) ')
  frees = alone and votes + 2 * downvotes == counted and first == member
end
if has_name(host) then must_be_allowed('ZREM', host) end
if frees then must_be_allowed('SET', link_record) end
must_be_allowed(publication(changes), changes, 'HSET', article, 'HINCRBY', article, 'ZREM', times, 'ZREM', scores,
  'ZREM', posted, 'ZADD', group_names, 'ZREM', group_names, 'ZADD', sizes, 'ZREM', sizes,
  'ZADD', deleted, 'XADD', log, 'HGETALL', article)
for _, name in ipairs(names) do must_be_changeable(groups[name]) end
local max_events = must_take_events(KEYS[20], features)

now = now_or(now)
keep_front(KEYS[14], KEYS[18], scores, features, now)
for _, key in ipairs({times, scores, posted}) do redis.call('ZREM', key, member) end
if has_name(host) then redis.call('ZREM', host, member) end
for _, name in ipairs(names) do
  leave(groups[name], member)
  if name ~= 'interesting' then index_group(group_names, sizes, groups[name], name) end
end
for _, calendar in ipairs(calendars) do unschedule(calendar, member) end
redis.call('HSET', article, 'deleted', now, 'deleted_by', by)
redis.call('ZADD', deleted, now, member)
if frees then redis.call('SET', link_record, member .. ' 0', 'KEEPTTL') end -- as if posted long ago
log_moderation(log, max_entries, 'deleted', member, by, via, now, 'title', hash[8] or '', 'link', link, 'reason', reason)
local revision = redis.call('HINCRBY', article, 'revision', 1)
publish(changes, 'deleted', member, revision, votes, downvotes, score, expected_groups, now .. ' ' .. by)
tell(KEYS[20], max_events, 'deleted', member, revision, votes, downvotes, score, by, '')

return {'OK', redis.call('HGETALL', article)}
