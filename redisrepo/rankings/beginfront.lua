-- beginfront.lua: begin to save front pages with the next full hour, unless that has begun.
--
-- KEYS[1]  clock:  hash  its fields front and front_since, see save_front in shared.lua
-- ARGV[1]  now, Unix seconds; empty: the server's clock
--
-- Replies {'OK'}  it has begun
-- Safe to run twice: the second run changes nothing.

local clock, now = KEYS[1], ARGV[1]

if not redis.call('HGET', clock, 'front') then
  local hour = math.floor(tonumber(now_or(now)) / 3600)
  redis.call('HSET', clock, 'front', hour, 'front_since', hour + 1)
end
return {'OK'}
