-- erasearticle.lua: take a user's name out of an article and its earlier versions.
--
-- uses types now append
-- KEY article        article:ID             hash    the article
-- KEY history        history:ID             hash    its earlier versions
-- KEY times          time:                  zset    posting times, Unix seconds
-- KEY posted         posted:NAME            zset    the articles of the user
-- KEY erased_posted  posted: deleted user   zset    those of erased users
-- KEY events         events:                stream  the log
-- KEY views          views:                 hash    the number of entries that are no events
-- ARG member         the article's member
-- ARG user           user:NAME, who is erased
-- ARG erased         the member that stands for erased users
-- ARG moderator      the member that stands for erased moderators
-- ARG empties        1 to empty title, text and link if the user posted the article, else 0
-- ARG now            now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', changed}  1 if the article or a version changed, else 0
--         {'LISTED'}       it is to be emptied, but is not deleted: delete it, and call again
-- Safe to run twice: the second run finds no name.

local hash = redis.call('HMGET', article, 'poster', 'deleted', 'deleted_by', 'why', 'votes', 'time', 'groups')
local own = hash[1] == user
if own and empties == '1' and not hash[2] then return {'LISTED'} end
local versions, listed = redis.call('HGETALL', history), redis.call('ZSCORE', times, member)

local changed = 0
local function set(key, field, value)
  redis.call('HSET', key, field, value)
  changed = 1
end
for i = 1, #versions, 2 do
  local before, size, by, rest = string.match(versions[i + 1], '^(%S+ %S+ )(%d+) ([^\n]*)\n(.*)$')
  if before and own and empties == '1' then
    set(history, versions[i], before .. '0 ' .. (by == user and erased or by) .. '\n')
  elseif before and by == user then
    set(history, versions[i], string.format('%s%s %s\n%s', before, size, own and erased or moderator, rest))
  end
end
local before, by, rest = string.match(hash[4] or '', '^(%S+ %S+ )([^\n]*)(\n.*)$')
if before and by == user then set(article, 'why', before .. moderator .. rest) end
if hash[3] == user then set(article, 'deleted_by', (own or hash[1] == erased) and erased or moderator) end
if own then
  local time = redis.call('ZSCORE', posted, member)
  redis.call('ZREM', posted, member)
  if time then redis.call('ZADD', erased_posted, time, member) end
  if empties == '1' then
    redis.call('HSET', article, 'title', '', 'link', '')
    redis.call('HDEL', article, 'text')
  end
  set(article, 'poster', erased)
  if listed and hash[7] then -- so that processes read it again
    append_hidden(events, views, 'noticed', member, {
      revision = 0, votes = hash[5] or 0, downvotes = 0, score = '', by = '', to = '', time = hash[6], groups = hash[7], at = now_or(now),
    })
  end
end
return {'OK', changed}
