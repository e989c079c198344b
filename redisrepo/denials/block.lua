-- block.lua: have a user block another one, or end that.
--
-- uses allowed
-- KEY blocked  blocked:NAME  set  whom the user NAME has blocked
-- ARG user     user:NAME, who is concerned
-- ARG blocks   1: block; 0: end that
-- ARG most     maximum number of users that one can block
--
-- Replies {'OK'}
--         {'FULL'}  the user has blocked so many
-- Safe to run twice: the second run changes nothing.

local count = redis.call('SCARD', blocked)
must_be_allowed('SADD', blocked, 'SREM', blocked)
if blocks ~= '1' then
  redis.call('SREM', blocked, user)
elseif redis.call('SISMEMBER', blocked, user) == 0 then
  if count >= tonumber(most) then return {'FULL'} end
  redis.call('SADD', blocked, user)
end
return {'OK'}
