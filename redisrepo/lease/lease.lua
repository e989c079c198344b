-- lease.lua: give a process the lease, extend it, or take it back.
--
-- uses types now
-- KEY lease    lease: or erasing:  hash  the process that has the lease, until when, and its token
-- ARG holder   a random name of the process
-- ARG seconds  for how long from now; 0: the process gives it back
-- ARG now      now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', token}  the process has it; token is a number greater than in all earlier tokens, and the name of the process
--         {'HELD'}       another process has it, or it was given back
-- Safe to run twice: the second run gives the process the same token again.

now = tonumber(now_or(now))
local owner, till, token = unpack(redis.call('HMGET', lease, 'holder', 'until', 'token'))
if owner ~= holder then
  if seconds == '0' or owner and tonumber(till) > now then return {'HELD'} end
  -- After a failover that lost a lease, its number is given out again: so the process is in the token, too.
  token = string.format('%.0f-%s', (tonumber(string.match(token or '', '^%d+')) or 0) + 1, holder)
end
redis.call('HSET', lease, 'holder', holder, 'until', now + tonumber(seconds), 'token', token)
if seconds == '0' then return {'HELD'} end
return {'OK', token}
