-- beginfront.lua: begin to save front pages with the next full hour, unless that has begun.
--
-- uses types now
-- KEY clock  clock:  hash  its fields front and front_since, see keep_front.lua
-- ARG now    now, Unix seconds; empty: the server's clock
--
-- Replies {'OK'}  it has begun
-- Safe to run twice: the second run changes nothing.

if not redis.call('HGET', clock, 'front') then
  local hour = math.floor(tonumber(now_or(now)) / 3600)
  redis.call('HSET', clock, 'front', hour, 'front_since', hour + 1)
end
return {'OK'}
