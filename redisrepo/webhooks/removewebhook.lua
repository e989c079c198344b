-- removewebhook.lua: remove an endpoint with all that was not delivered to it.
--
-- uses types
-- KEY webhooks     webhooks:         hash  the addresses of all endpoints
-- KEY webhook      webhook:HOOK      hash  the endpoint
-- KEY undelivered  undelivered:HOOK  hash  the events that it did not get yet
-- ARG id        name of the endpoint
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds none.

redis.call('HDEL', webhooks, id)
redis.call('UNLINK', webhook)
redis.call('UNLINK', undelivered)
return {'OK'}
