-- open.lua: record what a new store needs to be told from others, and read what a store has.
--
-- KEYS[1]    meta:  hash  layout, partitions, index, rules, epoch: a random name of the store's
--                  history, and cursor_key: the secret key of rankings' cursors
-- ARGV[1...] fields that a store must have, and their values if it lacks them, in turn
--
-- Replies {'OK', {field, value, ...}}  all fields
-- Safe to run twice: the second run finds the fields and changes nothing.

local meta, wanted = KEYS[1], {unpack(ARGV)}
for i = 1, #wanted, 2 do
  if not redis.call('HGET', meta, wanted[i]) then redis.call('HSET', meta, wanted[i], wanted[i + 1]) end
end
return {'OK', redis.call('HGETALL', meta)}
