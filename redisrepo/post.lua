-- post.lua: store a new article, in the rankings and in its groups. Posting stores it with the poster's
-- vote, importing with any number of votes.
--
-- KEYS[1]   article:ID     hash     the article, new
-- KEYS[2]   voted:ID       set      the upvoters
-- KEYS[3]   downvoted:ID   set      the downvoters
-- KEYS[4]   time:          zset     posting times, Unix seconds
-- KEYS[5]   score:         zset     the ranking, Unix seconds
-- KEYS[6]   groups:        zset     the names of all groups
-- KEYS[7]   posted:NAME    zset     the poster's articles
-- KEYS[8]   article:       string   the last article number given out
-- KEYS[9]   post:USER:KEY  string   the record of the idempotency key; unused without one
-- KEYS[10]  changes:       channel  on which the post is published
-- KEYS[11]  link:DIGEST    string   the newest article with this link; unused if ARGV[19] is empty
-- KEYS[12]  sizes:         zset     the names of all groups by negated number of articles
-- KEYS[13] host:NAME       zset     the articles with links to the same host; unused if it has no name
-- KEYS[14] clock:         hash     fold pointer and peaks of the calendar, and the last hour with a front page
-- KEYS[15] top:h:HOUR     zset     articles by net votes, of the hour of posting
-- KEYS[16] top:d:DAY      zset     the same of the day
-- KEYS[17] top:m:MONTH    zset     the same of the 32 days
-- KEYS[18] front:         zset     the front pages of past hours
-- KEYS[19] best:          zset     the best rank of articles
-- KEYS[20] events:        stream   the change feed
-- KEYS[21...] three keys of the group interesting, then of each name in ARGV[14]; with group_top, then four of each; with
--           cast, then cast:USER:MONTH, a zset: what the poster voted on among the articles of that month
-- ARGV[1]   the article's member
-- ARGV[2]   its number among those that KEYS[8] gives out
-- ARGV[3]   the poster's member
-- ARGV[4]   title
-- ARGV[5]   link, or empty
-- ARGV[6]   text, or empty
-- ARGV[7]   posting time, Unix seconds; empty: now
-- ARGV[8]   net votes, without a vote of the poster that does not count
-- ARGV[9]   1 if the poster's own vote counts, else 0
-- ARGV[10]  the ranking, as worth in shared.lua takes it
-- ARGV[11]  voting window, seconds
-- ARGV[12]  how much longer than the window the voters are kept, seconds
-- ARGV[13]  net votes that make an article interesting
-- ARGV[14]  its groups: sorted names, separated by spaces
-- ARGV[15]  now, Unix seconds; empty: the server's clock
-- ARGV[16]  digest of the submission; empty without an idempotency key
-- ARGV[17]  how long the record of the idempotency key is kept, seconds
-- ARGV[18]  the kind of the published change: posted, or imported
-- ARGV[19]  how long the link is reserved, seconds; empty: there is no link, or link.lua records it
-- ARGV[20]  1 if voters.lua has added the placeholders of an import, else 0: this script adds them
-- ARGV[21]  the features that are on, separated by spaces
--
-- Replies {'CREATED', {field, value, ...}, folded}  the hash of the new article; the last day up to which all of its
--                                           calendars are folded, empty if there is one that is not folded, or none
--         {'TAKEN', {field, value, ...}}    the number belongs to this article; nothing is written
--         {'REPEATED', member}              the idempotency key was used for this article, with this digest
--         {'CONFLICT'}                      the idempotency key was used with another digest
--         {'DUPLICATE', member}             the link is reserved for this article; nothing is written
--         {'UNPREPARED'}                    ARGV[20] is 1, but there are other voters; nothing is written
--         {'STALE', '', '', '', time}       the keys are not those of this posting time: call again with them
-- Safe to run twice: the second run replies TAKEN or REPEATED and changes nothing.

local article, voted, downvoted = KEYS[1], KEYS[2], KEYS[3]
local times, scores, group_names = KEYS[4], KEYS[5], KEYS[6]
local posted, counter, record = KEYS[7], KEYS[8], KEYS[9]
local changes, link_record, sizes, host = KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local member, number, poster = ARGV[1], ARGV[2], ARGV[3]
local title, link, text, posted_at = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local votes, counted, ranking = tonumber(ARGV[8]), ARGV[9] == '1', ARGV[10]
local window, margin, interesting_votes = ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])
local group_text, now, digest, record_ttl = ARGV[14], ARGV[15], ARGV[16], ARGV[17]
local kind, reserved, prepared = ARGV[18], tonumber(ARGV[19]), ARGV[20] == '1' -- reserved: nil if empty
local features = ARGV[21]
local history = tonumber(string.match(features, 'cast=(%d+)')) -- nil without cast

if digest ~= '' then
  local stored = redis.call('GET', record)
  if stored then
    local first, first_digest = string.match(stored, '^(%S+) (%S+)$')
    if first_digest ~= digest then return {'CONFLICT'} end
    return {'REPEATED', first}
  end
end
if redis.call('EXISTS', article) == 1 then return {'TAKEN', redis.call('HGETALL', article)} end
now = now_or(now)
if reserved then
  local first, since = string.match(redis.call('GET', link_record) or '', '^(%S+) (%S+)$')
  if first and tonumber(now) < tonumber(since) + reserved then return {'DUPLICATE', first} end
end

local time = posted_at ~= '' and posted_at or now
if features ~= '' and not posted_in(KEYS[15], time) then return {'STALE', '', '', '', time} end

local names = words(group_text)
local groups = groups_at(21, {'interesting', unpack(names)}, features)
for _, group in pairs(groups) do check_group(group, member) end
local calendars = calendars_at(14, groups, features)
must_be_zset(times, scores, group_names, sizes, posted, host)
if history then must_be_zset(KEYS[#KEYS]) end
local last = whole(redis.call('GET', counter) or '0')
if not last then return redis.error_reply('CORRUPT counter of articles') end

must_be_allowed(publication(changes), changes, 'HSET', article, 'UNLINK', voted, 'SADD', voted, 'EXPIRE', voted,
  'UNLINK', downvoted, 'SADD', downvoted, 'EXPIRE', downvoted, 'ZADD', times, 'ZADD', scores, 'ZADD', posted,
  'ZADD', group_names, 'ZADD', sizes, 'SET', counter, 'ZSCORE', scores, 'HGETALL', article)
if has_name(host) then must_be_allowed('ZADD', host) end
if digest ~= '' then must_be_allowed('SET', record) end
if history then must_be_allowed('ZADD', KEYS[#KEYS], 'EXPIRE', KEYS[#KEYS]) end
if reserved then must_be_allowed('SET', link_record) end
for _, group in pairs(groups) do must_be_changeable(group) end
local max_events = kind == 'posted' and must_take_events(KEYS[20], features) -- imports are not in the feed

-- Voters are stored only while voting is open. All but the poster are placeholders. Before the article exists,
-- the sets have no other members than those that voters.lua added.
local kept = time_to_keep(time, window, margin, now)
local set, other, placeholders = voted, downvoted, votes
if votes < 0 then set, other, placeholders = downvoted, voted, -votes end
if counted and votes > 0 then placeholders = votes - 1 end
if prepared and kept >= margin
  and (redis.call('SCARD', set) ~= placeholders or redis.call('SCARD', other) > 0) then return {'UNPREPARED'} end

keep_front(KEYS[14], KEYS[18], scores, features, now)
if kept < margin or not prepared then redis.call('UNLINK', voted, downvoted) end
redis.call('HSET', article, 'title', title, 'link', link, 'poster', poster, 'time', time,
  'votes', votes, 'downvotes', math.max(0, -votes), 'groups', group_text, 'revision', 1)
if text ~= '' then redis.call('HSET', article, 'text', text) end
if not counted then redis.call('HSET', article, 'uncounted', '1') end

if kept >= margin then
  if not counted or votes > 0 then redis.call('SADD', voted, poster) end
  if not prepared then add_placeholders(set, 1, placeholders) end
  redis.call('EXPIRE', voted, kept)
  redis.call('EXPIRE', downvoted, kept)
  if history then
    redis.call('HSET', article, 'cast', votes)
    if not counted or votes > 0 then
      redis.call('ZADD', KEYS[#KEYS], time, string.sub(member, 9))
      if history > 0 then redis.call('EXPIRE', KEYS[#KEYS], cast_expiry(time, window, history, now)) end
    end
  end
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
if last < tonumber(number) then redis.call('SET', counter, number) end
if digest ~= '' then redis.call('SET', record, member .. ' ' .. digest, 'EX', record_ttl) end
if reserved then redis.call('SET', link_record, member .. ' ' .. time) end
publish(changes, kind, member, 1, votes, math.max(0, -votes), score, group_text)
tell(KEYS[20], max_events, 'posted', member, 1, votes, math.max(0, -votes), score, poster, group_text)

local folded = calendars[1] and calendars[1].folded
for _, calendar in ipairs(calendars) do
  folded = folded and calendar.folded and math.min(folded, calendar.folded)
end
return {'CREATED', redis.call('HGETALL', article), folded and string.format('%d', folded) or ''}
