-- changewebhook.lua: set fields of an endpoint. The process that delivers to it reads all of it again before the next event.
--
-- uses types
-- KEY webhooks     webhooks:         hash  the addresses of all endpoints
-- KEY webhook      webhook:HOOK      hash  the endpoint
-- KEY undelivered  undelivered:HOOK  hash  the events that it did not get yet
-- ARG id        name of the endpoint
-- ARG url       its address from now on
-- ARG edition   the edition of the endpoint that the caller has read
-- ARG dropped   1: what it did not get yet is dropped; 0: it stays
-- ARGS field    names of fields, each before its value
--
-- Replies {'OK'}
--         {'GONE'}   there is no such endpoint
--         {'STALE'}  it has another edition
--         {'KNOWN', id}  another endpoint has the address
-- Safe to run twice: the second run sets the same again, or finds another edition.

local all, found = redis.call('HGETALL', webhooks), false
for i = 1, #all, 2 do
  found = found or all[i] == id
  if all[i] ~= id and all[i + 1] == url then return {'KNOWN', all[i]} end
end
if not found then return {'GONE'} end
if redis.call('HGET', webhook, 'edition') ~= edition then return {'STALE'} end
redis.call('HSET', webhooks, id, url)
if dropped == '1' then
  redis.call('UNLINK', undelivered)
  redis.call('HSET', webhook, 'held', '', 'error', '')
end
for i = first_field, #ARGV, 2 do redis.call('HSET', webhook, ARGV[i], ARGV[i + 1]) end
redis.call('HINCRBY', webhook, 'edition', 1)
return {'OK'}
