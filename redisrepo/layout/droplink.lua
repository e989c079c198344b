-- droplink.lua: drop records of links that still are as they were read.
--
-- uses types
-- KEYS record  link:DIGEST of each link
-- ARGS value   what each of them was
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds them gone, or written again.

local values = {unpack(ARGV, first_value)}
for i, record in ipairs(KEYS) do
  if redis.call('GET', record) == values[i] then redis.call('UNLINK', record) end
end
return {'OK'}
