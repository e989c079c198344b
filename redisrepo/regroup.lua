-- regroup.lua: add one article to groups and remove it from groups.
--
-- uses names now whole types allowed publish tell moderation by_bytes index_group groups leave hour calendar unschedule
-- KEY article      article:ID   hash     the article
-- KEY times        time:        zset     posting times, Unix seconds
-- KEY scores       score:       zset     the ranking, Unix seconds
-- KEY group_names  groups:      zset     the names of all groups
-- KEY changes      changes:     channel  on which the change is published
-- KEY log          moderation:  stream   the moderation log
-- KEY sizes        sizes:       zset     the names of all groups by negated number of articles
-- KEY events       events:      stream   the change feed
-- KEY clock        clock:       hash     the calendar of all articles, for its fold pointer
-- KEYS group       three keys of each name in current, then of each in add and remove; with group_top, then four of each
-- ARG member       the article's member
-- ARG add          names of the groups to add, separated by spaces
-- ARG remove       names of the groups to remove, separated by spaces
-- ARG max_groups   maximum number of groups of an article
-- ARG current      the article's groups as the caller expects them: sorted names, separated by spaces
-- ARG by           the actor's member
-- ARG may          1 if the actor's role allows this change of any article, else 0
-- ARG max_entries  approximate maximum number of entries in the log
-- ARG now          now, Unix seconds; empty: the server's clock
-- ARG via          the member of the service that acts for by, or empty
-- ARG logged       1 if the change is entered in the log in any case, else 0: if the actor is not the poster
-- ARG features     the features that are on, separated by spaces
--
-- Replies {'OK', {field, value, ...}}  the hash after the change
--         {'NOT_FOUND'}                the article does not exist or is deleted
--         {'FORBIDDEN'}                the actor is not the poster, and may is 0
--         {'TOO_MANY', number}         the article would be in that many groups
--         {'STALE', groups, '', '', time}  current differs from these, or the keys from those of this posting time: call
--                                      again with them
--         {'UNLISTED', poster, time}   the hash does not list the groups: call adopt.lua, and again
-- Safe to run twice: the second run finds the groups changed and changes nothing.

add, remove, max_groups, may, logged = words(add), words(remove), tonumber(max_groups), may == '1', logged == '1'

local hash = redis.call('HMGET', article, 'groups', 'poster', 'time', 'votes', 'downvotes', 'revision',
  'title', 'link')
local time, score = redis.call('ZSCORE', times, member), redis.call('ZSCORE', scores, member)
if not hash[3] or not time or not score then return {'NOT_FOUND'} end
local votes, downvotes = whole(hash[4] or '0'), whole(hash[5] or '0')
if not votes or not downvotes or not whole(hash[6] or '0') then
  return redis.error_reply('CORRUPT votes or revision of ' .. member)
end
if hash[2] ~= by and not may then return {'FORBIDDEN'} end
local moderated = hash[2] ~= by or logged

if not hash[1] then return {'UNLISTED', hash[2] or '', time} end
if hash[1] ~= current then return {'STALE', hash[1], '', '', time} end

local names = words(current)
for _, list in ipairs({add, remove}) do
  for _, name in ipairs(list) do names[#names + 1] = name end
end
local groups = groups_at(first_group, names, features)
for _, group in pairs(groups) do
  if group.calendar and not posted_in(group.calendar.hours, time) then return {'STALE', current, '', '', time} end
end

local is_in = {}
for _, name in ipairs(words(current)) do is_in[name] = true end
for _, name in ipairs(add) do is_in[name] = true end
for _, name in ipairs(remove) do is_in[name] = nil end
local list = {}
for name in pairs(is_in) do list[#list + 1] = name end
if #add > 0 and #list > max_groups then return {'TOO_MANY', #list} end
table.sort(list, by_bytes)

for _, group in pairs(groups) do
  check_group(group, member)
  if group.calendar then check_calendar(group.calendar, clock) end
end
must_be_zset(group_names, sizes)
if moderated then
  must_be_stream(log)
  must_be_allowed('XADD', log)
end
must_be_allowed(publication(changes), changes, 'HSET', article, 'HINCRBY', article,
  'ZADD', group_names, 'ZREM', group_names, 'ZADD', sizes, 'ZREM', sizes, 'HGETALL', article)
for _, group in pairs(groups) do must_be_changeable(group) end
local max_events = must_take_events(events, features)
for _, name in ipairs(add) do
  if is_in[name] then
    enter(groups[name], member, score, time)
    if groups[name].calendar then schedule(groups[name].calendar, member, votes) end
    index_group(group_names, sizes, groups[name], name)
  end
end
for _, name in ipairs(remove) do
  leave(groups[name], member)
  if groups[name].calendar then unschedule(groups[name].calendar, member) end
  index_group(group_names, sizes, groups[name], name)
end
local joined = table.concat(list, ' ')
redis.call('HSET', article, 'groups', joined)
if joined ~= current then
  if moderated then
    log_moderation(log, max_entries, 'regrouped', member, by, via, now_or(now), 'before', current, 'after', joined,
      'title', hash[7] or '', 'link', hash[8] or '')
  end
  local revision = redis.call('HINCRBY', article, 'revision', 1)
  redis.call('HSET', article, 'edition', revision)
  publish(changes, 'regrouped', member, revision, votes, downvotes, score, joined)
  tell(events, max_events, 'regrouped', member, revision, votes, downvotes, score, by, joined)
end

return {'OK', redis.call('HGETALL', article)}
