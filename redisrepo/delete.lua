-- delete.lua: remove one article from all listings and groups. Its hash and its voters stay, so that
-- undelete.lua can restore it. A second call for an article that a moderator deleted can say why.
--
-- uses types names now whole append moderation index_group groups leave worth keep_front settling
-- KEY article          article:ID    hash     the article
-- KEY times            time:         zset     posting times, Unix seconds
-- KEY scores           score:        zset     the ranking, Unix seconds
-- KEY group_names      groups:       zset     the names of all groups
-- KEY deleted          deleted:      zset     the deleted articles by time of deletion, Unix seconds
-- KEY log              moderation:   stream   the moderation log
-- KEY sizes            sizes:        zset     the names of all groups by negated number of articles
-- KEY unexplained      unexplained:  zset     the articles that moderators deleted without a ground, by time of deletion, Unix seconds
-- KEY voted            voted:ID      set      the upvoters
-- KEY downvoted        downvoted:ID  set      the downvoters
-- KEY flags            flags:ID      hash     the reports of the article
-- KEY flagged          flagged:      zset     the articles with open reports
-- KEY contacts         contact:ID:N  hash     the contacts of its notices after the N decisions that settled names
-- KEY later_contacts   contact:ID:N  hash     those after one decision more
-- KEY link_record      link:DIGEST   string   the article that the link of expected_link is reserved for, if any
-- KEY clock            clock:        hash     the last hour with a front page
-- KEY pages            front:        zset     the front pages of past hours
-- KEY events           events:       stream   the log
-- KEYS list            posted:NAME and host:NAME of expected_poster and expected_link, zsets: its lists by posting time;
--                      then three keys of the group interesting, and of each name in expected_groups
-- ARG member           the article's member
-- ARG by               the actor's member
-- ARG is_moderator     1 if the actor is a moderator, who may delete the articles of others, else 0
-- ARG expected_groups  the article's groups as the caller expects them: sorted names, separated by spaces
-- ARG expected_poster  the poster's member as the caller expects it, or empty
-- ARG max_entries      approximate maximum number of entries in the log
-- ARG now              now, Unix seconds; empty: the server's clock
-- ARG via              the member of the service that acts for by, or empty
-- ARG expected_link    the article's link as the caller expects it; empty: it has none
-- ARG reason           the reason in words; may be empty
-- ARG ground           the ground, if a moderator says why; else empty
-- ARG basis            the rule or the law; may be empty
-- ARG ranking          the ranking, as worth.lua takes it
-- ARG settled          the reports that this decides, as settling_of takes it; empty: none
-- ARG features         the features that are on, separated by spaces
-- ARG list_count       how many lists there are
--
-- The link of an article that its poster deletes can be posted again if no other user has a vote on it.
--
-- Replies {'OK', {field, value, ...}}  the hash of the article, deleted by this call or before
--         {'NOT_FOUND'}                the article does not exist, or is deleted and the actor may not see it
--         {'FORBIDDEN'}                the actor is neither the poster nor a moderator
--         {'CONFLICT'}                 none of the reports to be decided is open any more
--         {'STALE_REPORTS'}            reports were decided more often than the caller expects: look, and call again
--         {'STALE', groups, poster, link}  what is expected differs from these: call again with them
-- Safe to run twice: the second run finds the article deleted, and its reason given, and changes nothing.

is_moderator = is_moderator == '1'

local hash = redis.call('HMGET', article, 'groups', 'poster', 'time', 'votes', 'downvotes', 'revision',
  'deleted', 'title', 'link', 'uncounted', 'deleted_by', 'why')
local group_text = hash[1]
local poster = hash[2] or ''
local time = hash[3]
local votes = whole(hash[4] or '0')
local downvotes = whole(hash[5] or '0')
local revision = whole(hash[6] or '0')
local is_deleted = hash[7]
local title = hash[8] or ''
local link = hash[9] or ''
local uncounted = hash[10] == '1'
local deleted_by = hash[11]
local why = hash[12]
local score = redis.call('ZSCORE', scores, member)
local is_listed = score and redis.call('ZSCORE', times, member)

local is_own = poster == by
local may_delete = is_moderator or is_own
if is_own then ground = '' end
local lacks_reason = not why or reason ~= '' and string.sub(why, -1) == '\n'
local adds_reason = is_deleted and is_moderator and ground ~= '' and deleted_by ~= poster and lacks_reason

local settling, problem = settling_of(flags, flagged, contacts, later_contacts, may_delete and settled or '', by)
if problem == 'CONFLICT' then return {'CONFLICT'} end
if problem then return {'STALE_REPORTS'} end
local standing = settling and standing_of(article, ranking)
if settling and not standing then return redis.error_reply('CORRUPT time, votes or revision of ' .. member) end

local function settle_reports()
  settle(settling, events, standing, log, max_entries, member, by, via, now,
    'title', title, 'link', link, 'reason', reason, 'ground', ground, 'basis', basis)
end

if is_deleted and may_delete and not adds_reason then
  now = now_or(now)
  settle_reports()
  return {'OK', redis.call('HGETALL', article)}
end
if not group_text or not time or not adds_reason and (is_deleted or not is_listed) then return {'NOT_FOUND'} end
if not may_delete then return {'FORBIDDEN'} end
if not votes or not downvotes or not revision then return redis.error_reply('CORRUPT votes or revision of ' .. member) end

-- record keeps why the article was deleted, decides the reports, and enters the deletion into both logs.
local function record_deletion(score_before)
  settle_reports()
  if settling then redis.call('HSET', article, 'reported', 1) end
  if ground ~= '' then redis.call('HSET', article, 'why', why_of(now, ground, by, basis, reason)) end
  redis.call('HSET', article, 'revision', revision + 1)
  log_moderation(log, max_entries, 'deleted', member, by, via, now,
    'title', title, 'link', link, 'reason', reason, 'ground', ground, 'basis', basis)
  append(events, 'deleted', member, {
    revision = revision + 1, votes = votes, downvotes = downvotes, score = score_before, by = by, to = '',
    time = time, groups = group_text, at = now, ground = ground, basis = basis, reason = reason,
  })
end

if adds_reason then
  now = now_or(now)
  record_deletion(tonumber(time) + worth(ranking, votes))
  redis.call('ZREM', unexplained, member)
  return {'OK', redis.call('HGETALL', article)}
end

if group_text ~= expected_groups or poster ~= expected_poster or link ~= expected_link then
  return {'STALE', group_text, poster, link}
end
local names = words(group_text)
local groups = groups_at(first_list + list_count, {'interesting', unpack(names)}, member)
local frees_link = false
if is_own and link ~= '' then
  local votes_of_poster = redis.call('SISMEMBER', voted, by) + redis.call('SISMEMBER', downvoted, by)
  local known_votes = redis.call('SCARD', voted) + redis.call('SCARD', downvoted)
  local counted_votes = votes + 2 * downvotes
  local counted_of_poster = uncounted and 0 or votes_of_poster
  local reserved_for = string.match(redis.call('GET', link_record) or '', '^(%S+) ')
  frees_link = known_votes == votes_of_poster and counted_votes == counted_of_poster and reserved_for == member
end

now = now_or(now)
keep_front(clock, pages, scores, features, now)
redis.call('HSET', article, 'deleted', now, 'deleted_by', by)
redis.call('HDEL', article, 'why', 'reported')
redis.call('ZREM', times, member)
redis.call('ZREM', scores, member)
for i = first_list, first_list + list_count - 1 do redis.call('ZREM', KEYS[i], member) end
leave(groups.interesting, member)
for _, name in ipairs(names) do
  leave(groups[name], member)
  index_group(group_names, sizes, groups[name], name)
end
redis.call('ZADD', deleted, now, member)
if ground == '' and not is_own then redis.call('ZADD', unexplained, now, member) end
if frees_link then redis.call('SET', link_record, member .. ' 0', 'KEEPTTL') end -- as if posted long ago
record_deletion(score)
return {'OK', redis.call('HGETALL', article)}
