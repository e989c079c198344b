-- erasedenials.lua: have the denials say nothing of a user by name, and deny the user all changes until the erasure ends.
--
-- uses types
-- KEY denials         denials:  hash  all denials
-- ARG user            user:NAME, who is erased
-- ARG moderator       the member that stands for erased moderators
-- ARG digest          of the name
-- ARG erasing_denial  the denial that is in force meanwhile, a value; empty: the erasure has ended
-- ARG version         a text that no other call has
-- ARGS field          fields that may be of the user, or say that the user denied something
--
-- Replies {'OK', changed}  1 if the denials changed, else 0
-- Safe to run twice: the second run finds them as the first one left them.

local changed, erasing_field = 0, 'erasing:' .. digest
for i = first_field, #ARGV do
  local field, member, value = ARGV[i], ARGV[i], redis.call('HGET', denials, ARGV[i])
  local new_value = value or ''
  local before, by, reason = string.match(new_value, '^(%S+ %S+ %S+ %S+ )([^\n]*)\n(.*)$')
  if before and by == user then new_value = before .. moderator .. '\n' .. reason end
  if value and member == user then
    redis.call('HDEL', denials, user)
    member = 'erased:' .. digest
  end
  if value and (member ~= field or new_value ~= value) then
    redis.call('HSET', denials, member, new_value)
    changed = 1
  end
end
if erasing_denial == '' then
  changed = math.max(changed, redis.call('HDEL', denials, erasing_field))
elseif redis.call('HSETNX', denials, erasing_field, erasing_denial) == 1 then
  changed = 1
end
if changed == 1 then redis.call('HSET', denials, 'version', version) end
return {'OK', changed}
