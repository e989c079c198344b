-- erasereports.lua: take a user's name out of the reports of an article.
--
-- uses types
-- KEY flags      flags:ID  hash  the reports
-- ARG user       user:NAME, who is erased
-- ARG erased     the member that stands for erased users
-- ARG moderator  the member that stands for erased moderators
-- ARGS field     fields that may be of the user
--
-- Replies {'OK', changed}  1 if they changed, else 0
-- Safe to run twice: the second run finds no name.

local changed = 0
for i = first_field, #ARGV do
  local field, value = ARGV[i], redis.call('HGET', flags, ARGV[i])
  local pattern, instead = '^(%S+ %S+ %S+ )([^\n]*)(\n.*)$', erased -- of a report
  if string.sub(field, 1, 1) == '=' then pattern, instead = '^(%S+ %S+ )([^\n]*)(\n.*)$', moderator end -- of a decision
  local before, by, rest = string.match(value or '', pattern)
  if value and field == user then
    redis.call('HDEL', flags, field)
    changed = 1
  elseif by == user then
    redis.call('HSET', flags, field, before .. instead .. rest)
    changed = 1
  end
end
return {'OK', changed}
