-- undelete.lua: restore a deleted article to the listings and groups from which delete.lua removed it,
-- with the rank that its votes give it.
--
-- uses types names now whole list_article keep_front append moderation
-- KEY article            article:ID   hash     the article
-- KEY times              time:        zset     posting times, Unix seconds
-- KEY scores             score:       zset     the ranking, Unix seconds
-- KEY group_names        groups:      zset     the names of all groups
-- KEY deleted            deleted:     zset     the deleted articles by time of deletion, Unix seconds
-- KEY log                moderation:  stream   the moderation log
-- KEY sizes              sizes:       zset     the names of all groups by negated number of articles
-- KEY unexplained        unexplained: zset     the articles that moderators deleted without a ground, by time of deletion, Unix seconds
-- KEY link_record        link:DIGEST  string   the article that the link of expected_link is reserved for, if any
-- KEY clock              clock:       hash     the last hour with a front page
-- KEY pages              front:       zset     the front pages of past hours
-- KEY events             events:      stream   the log
-- KEYS list              posted:NAME and host:NAME of expected_poster and expected_link, zsets: its lists by posting time;
--                        then three keys of the group interesting, and of each name in expected_groups
-- ARG member             the article's member
-- ARG by                 the actor's member
-- ARG is_moderator       1 if the actor is a moderator, else 0: then undo_window applies
-- ARG undo_window        how long after a deletion of its own the poster may restore the article, seconds
-- ARG expected_groups    the article's groups as the caller expects them: sorted names, separated by spaces
-- ARG expected_poster    the poster's member as the caller expects it, or empty
-- ARG ranking            the ranking, as worth.lua takes it
-- ARG interesting_votes  net votes that make an article interesting
-- ARG max_entries        approximate maximum number of entries in the log
-- ARG now                now, Unix seconds; empty: the server's clock
-- ARG via                the member of the service that acts for by, or empty
-- ARG expected_link      the article's link as the caller expects it; empty: it has none
-- ARG reason             the reason for the log; may be empty
-- ARG features           the features that are on, separated by spaces
-- ARG list_count         how many lists there are
--
-- Replies {'OK', {field, value, ...}}  the hash of the article, which is not deleted
--         {'NOT_FOUND'}                the article does not exist
--         {'FORBIDDEN'}                the actor is no moderator, and did not delete the article, or too long ago
--         {'EMPTIED'}                  it was deleted so long ago that its title and text are gone
--         {'STALE', groups, poster, link}  what is expected differs from these: call again with them
-- Safe to run twice: the second run finds the article restored and changes nothing.

is_moderator = is_moderator == '1'
interesting_votes = tonumber(interesting_votes)

local hash = redis.call('HMGET', article,
  'groups', 'poster', 'time', 'votes', 'downvotes', 'revision', 'deleted', 'title', 'link', 'deleted_by')
local group_text = hash[1] or ''
local poster = hash[2] or ''
local time = hash[3]
local votes = whole(hash[4] or '0')
local downvotes = whole(hash[5] or '0')
local revision = whole(hash[6] or '0')
local deleted_at = hash[7]
local title = hash[8]
local link = hash[9] or ''
local deleted_by = hash[10]

if not time then return {'NOT_FOUND'} end
if not deleted_at then
  if not redis.call('ZSCORE', times, member) then return {'NOT_FOUND'} end
  if not is_moderator and poster ~= by then return {'FORBIDDEN'} end
  return {'OK', redis.call('HGETALL', article)}
end
now = now_or(now)
local may_undo = poster == by and deleted_by == by and now - deleted_at <= tonumber(undo_window)
if not is_moderator and not may_undo then return {'FORBIDDEN'} end
if title == '' then return {'EMPTIED'} end
if not tonumber(time) or not votes or not downvotes or not revision then
  return redis.error_reply('CORRUPT time, votes or revision of ' .. member)
end
if group_text ~= expected_groups or poster ~= expected_poster or link ~= expected_link then
  return {'STALE', group_text, poster, link}
end

local is_free = redis.call('GET', link_record) == member .. ' 0' -- by delete.lua, and not posted again since
local names = words(group_text)
local listings = {
  times = times,
  scores = scores,
  lists = {unpack(KEYS, first_list, first_list + list_count - 1)},
  names = names,
  groups = groups_at(first_list + list_count, {'interesting', unpack(names)}, member),
  group_names = group_names,
  sizes = sizes,
}

keep_front(clock, pages, scores, features, now)
local score = list_article(listings, member, time, votes, ranking, interesting_votes)
redis.call('HDEL', article, 'deleted', 'deleted_by', 'why', 'reported')
redis.call('HSET', article, 'revision', revision + 1)
redis.call('ZREM', deleted, member)
redis.call('ZREM', unexplained, member)
if is_free then redis.call('SET', link_record, member .. ' ' .. time, 'KEEPTTL') end
log_moderation(log, max_entries, 'undeleted', member, by, via, now, 'title', title or '', 'link', link, 'reason', reason)
append(events, 'undeleted', member, {
  revision = revision + 1, votes = votes, downvotes = downvotes, score = score, by = by, to = group_text,
  time = time, groups = group_text, at = now,
})
return {'OK', redis.call('HGETALL', article)}
