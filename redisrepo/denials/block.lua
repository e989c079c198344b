-- block.lua: make a user block or unblock another one.
--
-- uses types
-- KEY blocked  blocked:NAME  set  whom the user NAME has blocked
-- ARG user     user:NAME, whom to block or unblock
-- ARG blocks   1: block; 0: unblock
-- ARG most     maximum number of users that one can block
--
-- Replies {'OK'}
--         {'FULL'}  the user has blocked the maximum number
-- Safe to run twice: the second run changes nothing.

local count = redis.call('SCARD', blocked)
if blocks ~= '1' then
  redis.call('SREM', blocked, user)
elseif redis.call('SISMEMBER', blocked, user) == 0 then
  if count >= tonumber(most) then return {'FULL'} end
  redis.call('SADD', blocked, user)
end
return {'OK'}
