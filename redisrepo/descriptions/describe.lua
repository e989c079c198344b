-- describe.lua: keep what a group says about itself, or forget it.
--
-- uses allowed
-- KEY described  described:  hash  what groups say about themselves
-- ARG group  name of the group
-- ARG text   JSON; empty: it says nothing
--
-- Replies {'OK'}
-- Safe to run twice: the second run changes nothing.

redis.call('HLEN', described)
must_be_allowed('HSET', described, 'HDEL', described)
if text == '' then
  redis.call('HDEL', described, group)
else
  redis.call('HSET', described, group, text)
end
return {'OK'}
