-- size.lua: bring the indexes of groups up to date with the sets of some groups.
--
-- KEYS[1]  groups:  zset  the names of all groups
-- KEYS[2]  sizes:   zset  the names of all groups by negated number of articles
-- KEYS[3...] group:NAME of each of ARGV
-- ARGV[1...] names of groups
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the indexes up to date.

local group_names, sizes, names = KEYS[1], KEYS[2], {unpack(ARGV)}
must_be_zset(group_names, sizes)
for i = 3, #KEYS do redis.call('SCARD', KEYS[i]) end -- fails if one has another type, before the first write
must_be_allowed('ZADD', group_names, 'ZREM', group_names, 'ZADD', sizes, 'ZREM', sizes)
for i, name in ipairs(names) do index_group(group_names, sizes, {members = KEYS[i + 2]}, name) end
return {'OK'}
