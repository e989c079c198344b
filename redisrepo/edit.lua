-- edit.lua: change the title, the text and the groups of one article. Its earlier title and text are kept.
--
-- uses types names now whole append moderation index_group groups leave drop_versions
-- KEY article             article:ID   hash     the article
-- KEY history             history:ID   hash     its earlier versions: number of the edit to what it replaced; best: the number
--                         of the edit that replaced the version, not the first, with the most votes, and these
-- KEY times               time:        zset     posting times, Unix seconds
-- KEY scores              score:       zset     the ranking, Unix seconds
-- KEY group_names         groups:      zset     the names of all groups
-- KEY log                 moderation:  stream   the moderation log
-- KEY sizes               sizes:       zset     the names of all groups by negated number of articles
-- KEY events              events:      stream   the log
-- KEYS group              three keys of each name in expected_groups, then of each other one in new_groups; none if regroups is 0
-- ARG member              the article's member
-- ARG by                  the actor's member
-- ARG may_edit_any        1 if the actor may change the articles of others, and at any time, as moderators may, else 0
-- ARG title               the new title; empty: it stays
-- ARG text                = before the new text, which may be empty; empty: it stays
-- ARG regroups            1 if the article gets the groups in new_groups, 0 if its groups stay
-- ARG new_groups          its new groups: sorted names, separated by spaces
-- ARG expected_groups     the article's groups as the caller expects them: sorted names, separated by spaces
-- ARG if_revision         revision after which the article must not have been edited or regrouped; empty: any
-- ARG edit_window         how long after posting its poster may change the title, seconds
-- ARG window              voting window, seconds: how long its poster may change the text, if that is longer
-- ARG max_versions        maximum number of versions that are kept: the first, the best, and the newest
-- ARG reason              the reason in words; may be empty
-- ARG max_entries         approximate maximum number of entries in the log
-- ARG now                 now, Unix seconds; empty: the server's clock
-- ARG via                 the member of the service that acts for by, or empty
-- ARG ground              the ground, if a moderator says why; else empty
-- ARG basis               the rule or the law; may be empty
-- ARG logs_regrouping     1 if the change of groups is entered in the log in any case, else 0: if the actor is not the poster
-- ARG refuses_regrouping  1 if the groups may not change like this, else 0
--
-- Replies {'OK', {field, value, ...}}        the hash after the change
--         {'NOT_FOUND'}                      the article does not exist or is deleted
--         {'FORBIDDEN'}                      the actor is neither the poster nor a moderator
--         {'CLOSED', what}                   it is too late for its poster to change this: title or text
--         {'REFUSED'}                        the groups would change, and refuses_regrouping is 1
--         {'EMPTY'}                          the article would have neither a link nor a text
--         {'CONFLICT', {field, value, ...}}  it was edited or regrouped after the revision; its hash
--         {'STALE', groups}                  expected_groups differs from these: call again with them
-- Safe to run twice: the second run finds the values set and changes nothing.

may_edit_any = may_edit_any == '1'
regroups = regroups == '1'
if_revision = tonumber(if_revision)
edit_window = tonumber(edit_window)
window = tonumber(window)
max_versions = tonumber(max_versions)
logs_regrouping = logs_regrouping == '1'
refuses_regrouping = refuses_regrouping == '1'

local hash = redis.call('HMGET', article, 'groups', 'poster', 'time', 'votes', 'downvotes', 'revision',
  'title', 'text', 'link', 'edits', 'edition')
local old_groups = hash[1]
local poster = hash[2]
local votes = whole(hash[4] or '0')
local downvotes = whole(hash[5] or '0')
local revision = whole(hash[6] or '0')
local old_title = hash[7] or ''
local old_text = hash[8] or ''
local link = hash[9] or ''
local edits = whole(hash[10] or '0')
local edition = whole(hash[11] or '0')
local time = redis.call('ZSCORE', times, member)
local score = redis.call('ZSCORE', scores, member)

if not old_groups or not hash[3] or not time or not score then return {'NOT_FOUND'} end
if not votes or not downvotes or not revision or not edits or not edition then
  return redis.error_reply('CORRUPT votes, revision or edits of ' .. member)
end
if poster ~= by and not may_edit_any then return {'FORBIDDEN'} end
if regroups and old_groups ~= expected_groups then return {'STALE', old_groups} end

local changes_title = title ~= '' and title ~= old_title
local changes_text = text ~= '' and text ~= '=' .. old_text
local is_edited = changes_title or changes_text
local is_regrouped = regroups and new_groups ~= expected_groups
local is_moderated = poster ~= by or is_regrouped and logs_regrouping
if poster == by then ground = '' end
if not is_edited and not is_regrouped then return {'OK', redis.call('HGETALL', article)} end

if if_revision and (edition > if_revision or if_revision > revision) then
  return {'CONFLICT', redis.call('HGETALL', article)}
end
now = now_or(now)
local age = tonumber(now) - tonumber(time)
if not may_edit_any and changes_title and age > edit_window then return {'CLOSED', 'title'} end
if not may_edit_any and changes_text and age > math.max(edit_window, window) then return {'CLOSED', 'text'} end
if is_regrouped and refuses_regrouping then return {'REFUSED'} end
if changes_text and text == '=' and link == '' then return {'EMPTY'} end

-- names has the groups that the article is in, then those that it enters.
local names = regroups and words(expected_groups) or {}
local is_in = {}
for _, name in ipairs(names) do is_in[name] = true end
local stays = {}
for _, name in ipairs(regroups and words(new_groups) or {}) do
  stays[name] = true
  if not is_in[name] then names[#names + 1] = name end
end
local groups = groups_at(first_group, names, member)

-- The version that this edit replaces has gained votes since the edit before it.
local last = edits > 0 and redis.call('HGET', history, edits) or ''
local votes_then = string.match(last, '^%S+ (-?%d+) ')
local gained = votes - (tonumber(votes_then) or 0)
local best, best_votes = string.match(redis.call('HGET', history, 'best') or '', '^(%d+) (%d+)$')
best = tonumber(best)
best_votes = tonumber(best_votes) or 0

revision = revision + 1
redis.call('HSET', article, 'revision', revision, 'edition', revision)
if is_edited then
  edits = edits + 1
  local head = string.format('%s %d %d %s\n', now, votes, #old_title, by)
  redis.call('HSET', history, edits, head .. old_title .. old_text)
  if edits > 1 and gained > best_votes then
    best = edits
    redis.call('HSET', history, 'best', string.format('%d %d', best, gained))
  end
  drop_versions(history, max_versions, best)
  redis.call('HSET', article, 'edits', edits, 'edited', now)
end
if changes_title then redis.call('HSET', article, 'title', title) end
if changes_text and text == '=' then
  redis.call('HDEL', article, 'text')
elseif changes_text then
  redis.call('HSET', article, 'text', string.sub(text, 2))
end

local left = {}
for _, name in ipairs(names) do
  local group = groups[name]
  if stays[name] then
    enter(group, member, score, time)
  else
    leave(group, member)
    left[#left + 1] = name
  end
  index_group(group_names, sizes, group, name)
end
if is_regrouped then redis.call('HSET', article, 'groups', new_groups) end

local kind = is_edited and 'edited' or 'regrouped'
local groups_after = is_regrouped and new_groups or old_groups
if is_moderated then
  log_moderation(log, max_entries, kind, member, by, via, now,
    'title', changes_title and title or old_title, 'link', link, 'reason', reason,
    'before', is_regrouped and expected_groups or '', 'after', is_regrouped and new_groups or '', 'ground', ground, 'basis', basis)
end
if ground ~= '' then redis.call('HSET', article, 'why', why_of(now, ground, by, basis, reason)) end
append(events, kind, member, {
  revision = revision, votes = votes, downvotes = downvotes, score = score, by = by, to = groups_after,
  time = time, groups = groups_after, at = now, left = table.concat(left, ' '),
  ground = ground, basis = basis, reason = reason,
})
return {'OK', redis.call('HGETALL', article)}
