-- open.lua: record what distinguishes a new store from others, and read what is recorded of a store.
--
-- uses types
-- KEY meta    meta:  hash  layout, partitions, index, rules, epoch: a random name of the store's history, cursor_key:
--             the secret key of rankings' cursors, and uuid: the site's UUID
-- ARGS field  fields that a store must have, and their values if it lacks them, in turn
--
-- Replies {'OK', {field, value, ...}}  all fields
-- Safe to run twice: the second run finds the fields and changes nothing.

local wanted = {unpack(ARGV, first_field)}

for i = 1, #wanted, 2 do
  if not redis.call('HGET', meta, wanted[i]) then redis.call('HSET', meta, wanted[i], wanted[i + 1]) end
end
return {'OK', redis.call('HGETALL', meta)}
