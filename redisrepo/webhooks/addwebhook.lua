-- addwebhook.lua: add an endpoint, whose first event is the one after a place in the change feed.
--
-- uses types
-- KEY webhooks  webhooks:     hash  the addresses of all endpoints
-- KEY webhook   webhook:HOOK  hash  the endpoint
-- ARG id        name of the endpoint
-- ARG url       its address
-- ARG most      maximum number of endpoints
-- ARG config    its settings, JSON
-- ARG cursor    the place
--
-- Replies {'OK'}
--         {'FULL'}       the site has the maximum number
--         {'KNOWN', id}  another endpoint has the address
-- Safe to run twice: the second run finds the endpoint added.

local all = redis.call('HGETALL', webhooks)
for i = 1, #all, 2 do
  if all[i] == id then return {'OK'} end
  if all[i + 1] == url then return {'KNOWN', all[i]} end
end
if #all / 2 >= tonumber(most) then return {'FULL'} end
redis.call('HSET', webhooks, id, url)
redis.call('HSET', webhook, 'config', config, 'cursor', cursor, 'edition', 1)
return {'OK'}
