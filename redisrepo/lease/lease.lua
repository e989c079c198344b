-- lease.lua: give a process the lease, or give it longer, or take it back.
--
-- uses now allowed
-- KEY lease    lease:  hash  the process that has the lease, until when, and its token
-- ARG holder   a random name of the process
-- ARG seconds  for how long from now; 0: the process gives it back
-- ARG now      now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', token}  the process has it; token is greater than that of all processes before it
--         {'HELD'}       another process has it, or it was given back
-- Safe to run twice: the second run gives the process the same token again.

now = tonumber(now_or(now))
local owner, till, token = unpack(redis.call('HMGET', lease, 'holder', 'until', 'token'))
must_be_allowed('HSET', lease)
token = tonumber(token) or 0
if owner ~= holder then
  if seconds == '0' or owner and tonumber(till) > now then return {'HELD'} end
  token = token + 1
end
redis.call('HSET', lease, 'holder', holder, 'until', now + tonumber(seconds), 'token', token)
if seconds == '0' then return {'HELD'} end
return {'OK', token}
