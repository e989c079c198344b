-- hosts.lua: list some articles by the hosts of their links.
--
-- KEYS[1]  time:   zset  posting times, Unix seconds
-- KEYS[2...] host:NAME of the link of each of ARGV
-- ARGV[1...] members of articles
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the articles listed. It leaves out an article that does not exist or is deleted.

local times, members = KEYS[1], {unpack(ARGV)}
must_be_zset(times, unpack(KEYS, 2))
for i = 2, #KEYS do must_be_allowed('ZADD', KEYS[i]) end
for i, member in ipairs(members) do
  local time = redis.call('ZSCORE', times, member)
  if time then redis.call('ZADD', KEYS[i + 1], time, member) end
end
return {'OK'}
