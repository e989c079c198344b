-- hosts.lua: list some articles by the hosts of their links.
--
-- uses types
-- KEY times    time:  zset  posting times, Unix seconds
-- KEYS host    host:NAME of the link of each member
-- ARGS member  members of articles
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the articles listed. It leaves out an article that does not exist or is deleted.

local members = {unpack(ARGV, first_member)}
for i, member in ipairs(members) do
  local time = redis.call('ZSCORE', times, member)
  if time then redis.call('ZADD', KEYS[first_host + i - 1], time, member) end
end
return {'OK'}
