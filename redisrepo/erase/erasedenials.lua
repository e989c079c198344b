-- erasedenials.lua: have the denials say nothing of a user by name, and deny the user all changes until the erasure ends.
--
-- uses allowed
-- KEY denials    denials:  hash  all denials
-- ARG user       user:NAME, who is erased
-- ARG moderator  the member that stands for erased moderators
-- ARG digest     of the name
-- ARG erasing    the denial that is in force meanwhile, a value; empty: the erasure has ended
-- ARG version    a text that no other call has
--
-- Replies {'OK', changed}  1 if the denials changed, else 0
-- Safe to run twice: the second run finds them as the first one left them.

must_be_allowed('HSET', denials, 'HDEL', denials)
local all, changed = redis.call('HGETALL', denials), 0
local field, is_erasing = 'erasing:' .. digest, false
for i = 1, #all, 2 do
  local member, value = all[i], all[i + 1]
  local before, by, reason = string.match(value, '^(%S+ %S+ %S+ %S+ )([^\n]*)\n(.*)$')
  if before and by == user then value = before .. moderator .. '\n' .. reason end
  if member == user then
    redis.call('HDEL', denials, user)
    member = 'erased:' .. digest
  end
  is_erasing = is_erasing or member == field
  if member ~= all[i] or value ~= all[i + 1] then
    redis.call('HSET', denials, member, value)
    changed = 1
  end
end
if is_erasing and erasing == '' then
  redis.call('HDEL', denials, field)
  changed = 1
elseif not is_erasing and erasing ~= '' then
  redis.call('HSET', denials, field, erasing)
  changed = 1
end
if changed == 1 then redis.call('HSET', denials, 'version', version) end
return {'OK', changed}
