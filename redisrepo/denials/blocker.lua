-- blocker.lua: enter a user who blocks others, after those who do already.
--
-- uses types
-- KEY blockers  blockers:  zset  users who have blocked others, in the order of their first block
-- ARG user      user:NAME, who blocks
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the user entered.

if not redis.call('ZSCORE', blockers, user) then
  local last = redis.call('ZRANGE', blockers, -1, -1, 'WITHSCORES')
  redis.call('ZADD', blockers, (last[2] or 0) + 1, user)
end
return {'OK'}
