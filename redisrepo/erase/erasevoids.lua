-- erasevoids.lua: take a user's name out of the votes on an article that do not count. They still do not count.
--
-- uses allowed
-- KEY void       void:ID  hash  the votes that do not count
-- ARG user       user:NAME, who is erased
-- ARG moderator  the member that stands for erased moderators
-- ARG gone       the voter without a name, a random member that no other vote has
--
-- Replies {'OK', changed}  1 if they changed, else 0
-- Safe to run twice: the second run finds no name.

must_be_allowed('HSET', void, 'HDEL', void)
local all, changed = redis.call('HGETALL', void), 0
for i = 1, #all, 2 do
  local field, value = all[i], all[i + 1]
  local before, by, rest = string.match(value, '^(%S+ %S+ %S+ )([^\n]*)(\n.*)$')
  if by == user then value = before .. moderator .. rest end
  if field == user then
    redis.call('HDEL', void, field)
    field = gone
  end
  if field ~= all[i] or value ~= all[i + 1] then
    redis.call('HSET', void, field, value)
    changed = 1
  end
end
return {'OK', changed}
