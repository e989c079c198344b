-- claim.lua: store a value unless the key has one already.
--
-- uses types
-- KEY record  name:DIGEST, account:DIGEST or post:USER:KEY  string  what is claimed; need not exist
-- ARG value   the value
-- ARG ttl     how long a new one is kept, seconds; 0: for ever
--
-- Replies {'OK', value}  the value that the key has now: the first one
-- Safe to run twice: the second run replies what the first one stored.

local first = redis.call('GET', record)
if first then return {'OK', first} end
if ttl == '0' then redis.call('SET', record, value) else redis.call('SET', record, value, 'EX', ttl) end
return {'OK', value}
