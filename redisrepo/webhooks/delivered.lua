-- delivered.lua: save how far an endpoint has the change feed, if the caller still may.
--
-- uses types
-- KEY lease        lease:            hash  the process that has the lease
-- KEY webhook      webhook:HOOK      hash  the endpoint
-- KEY undelivered  undelivered:HOOK  hash  the events that it did not get yet
-- ARG token    the caller's token of the lease
-- ARG edition  the edition of the endpoint that the caller has read
-- ARG cursor   after which event the feed goes on
-- ARG waiting  articles whose events wait in the feed, to where they go on there, JSON; empty: none
-- ARG paused   why deliveries end; empty: they go on
-- ARG last_error  of the last try that failed; empty: nothing waits to be sent again
-- ARG removed  number of events that it has got now
-- ARGS field   their numbers, then those of other events, each before the event
--
-- Replies {'OK'}
--         {'STALE'}  another process has had the lease since, or the endpoint was changed or removed
-- Safe to run twice: the second run sets the same again.

local held = redis.call('HGET', lease, 'token')
local known = redis.call('HGET', webhook, 'edition')
if held ~= token or known ~= edition then return {'STALE'} end
local first_kept = first_field + tonumber(removed)
for i = first_field, first_kept - 1 do redis.call('HDEL', undelivered, ARGV[i]) end
for i = first_kept, #ARGV, 2 do redis.call('HSET', undelivered, ARGV[i], ARGV[i + 1]) end
redis.call('HSET', webhook, 'cursor', cursor, 'held', waiting, 'error', last_error)
if paused ~= '' then redis.call('HSET', webhook, 'paused', paused) end
return {'OK'}
