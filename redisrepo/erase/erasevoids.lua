-- erasevoids.lua: take a user's name out of the votes on an article that do not count. They still do not count.
--
-- uses types
-- KEY void       void:ID  hash  the votes that do not count
-- ARG user       user:NAME, who is erased
-- ARG moderator  the member that stands for erased moderators
-- ARG gone       the voter without a name, a random member that no other vote has
-- ARGS field     fields that may be of the user
--
-- Replies {'OK', changed}  1 if they changed, else 0
-- Safe to run twice: the second run finds no name.

local changed = 0
for i = first_field, #ARGV do
  local field, value = ARGV[i], redis.call('HGET', void, ARGV[i])
  local is = value or ''
  local before, by, rest = string.match(is, '^(%S+ %S+ %S+ )([^\n]*)(\n.*)$')
  if by == user then is = before .. moderator .. rest end
  if value and field == user then
    redis.call('HDEL', void, field)
    field = gone
  end
  if value and (field ~= ARGV[i] or is ~= value) then
    redis.call('HSET', void, field, is)
    changed = 1
  end
end
return {'OK', changed}
