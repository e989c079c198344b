-- undelete.lua: restore a deleted article to the listings and groups from which delete.lua removed it,
-- with the rank that its votes give it.
--
-- uses names now whole types allowed append moderation lists_at index_group groups worth keep_front
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
-- ARG is_moderator       1 if the actor is a moderator, else 0: then undo applies
-- ARG undo               how long after a deletion of its own the poster may restore the article, seconds
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

interesting_votes = tonumber(interesting_votes)

local hash = redis.call('HMGET', article,
  'groups', 'poster', 'time', 'votes', 'downvotes', 'revision', 'deleted', 'title', 'link', 'deleted_by')
local listed = redis.call('ZSCORE', times, member)
if not hash[3] or not hash[7] and not listed then return {'NOT_FOUND'} end
if not hash[7] and is_moderator ~= '1' and hash[2] ~= by then return {'FORBIDDEN'} end
if not hash[7] then return {'OK', redis.call('HGETALL', article)} end
local time, group_text, poster = hash[3], hash[1] or '', hash[2] or ''
now = now_or(now)
local own = poster == by and hash[10] == by and now - hash[7] <= tonumber(undo)
if is_moderator ~= '1' and not own then return {'FORBIDDEN'} end
if hash[8] == '' then return {'EMPTIED'} end
local votes, downvotes = whole(hash[4] or '0'), whole(hash[5] or '0')
if not tonumber(time) or not votes or not downvotes or not whole(hash[6] or '0') then
  return redis.error_reply('CORRUPT time, votes or revision of ' .. member)
end
local link = hash[9] or ''
if group_text ~= expected_groups or poster ~= expected_poster or link ~= expected_link then
  return {'STALE', group_text, poster, link}
end

local names = words(group_text)
local groups = groups_at(first_list + list_count, {'interesting', unpack(names)})
for _, group in pairs(groups) do check_group(group, member) end
must_be_zset(scores, group_names, sizes, deleted, unexplained)
must_be_stream(log)
local freed = redis.call('GET', link_record) == member .. ' 0' -- by delete.lua, and not posted again since
if freed then must_be_allowed('SET', link_record) end
local lists = lists_at(first_list, list_count, 'ZADD')
must_be_allowed('HDEL', article, 'HINCRBY', article, 'ZADD', times, 'ZADD', scores,
  'ZADD', group_names, 'ZADD', sizes, 'ZREM', deleted, 'ZREM', unexplained, 'XADD', log, 'ZSCORE', scores, 'HGETALL', article)
must_take_entries(events)

keep_front(clock, pages, scores, features, now)
redis.call('ZADD', times, time, member)
redis.call('ZADD', scores, tonumber(time) + worth(ranking, votes), member)
for _, list in ipairs(lists) do redis.call('ZADD', list, time, member) end
local score = redis.call('ZSCORE', scores, member)
for _, name in ipairs(names) do
  enter(groups[name], member, score, time)
  index_group(group_names, sizes, groups[name], name)
end
if votes >= interesting_votes then enter(groups.interesting, member, score, time) end
redis.call('HDEL', article, 'deleted', 'deleted_by', 'why', 'reported')
redis.call('ZREM', deleted, member)
redis.call('ZREM', unexplained, member)
if freed then redis.call('SET', link_record, member .. ' ' .. time, 'KEEPTTL') end
log_moderation(log, max_entries, 'undeleted', member, by, via, now, 'title', hash[8] or '', 'link', link,
  'reason', reason)
local revision = redis.call('HINCRBY', article, 'revision', 1)
append(events, 'undeleted', member, revision, votes, downvotes, score, by, group_text, time, group_text, now)

return {'OK', redis.call('HGETALL', article)}
