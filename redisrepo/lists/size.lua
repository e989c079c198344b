-- size.lua: bring the indexes of groups up to date with the sets of some groups.
--
-- uses types allowed index_group
-- KEY group_names  groups:  zset  the names of all groups
-- KEY sizes        sizes:   zset  the names of all groups by negated number of articles
-- KEYS group       group:NAME of each name
-- ARGS name        names of groups
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the indexes up to date.

local names = {unpack(ARGV, first_name)}
must_be_zset(group_names, sizes)
for i = first_group, #KEYS do redis.call('SCARD', KEYS[i]) end -- fails if one has another type, before the first write
must_be_allowed('ZADD', group_names, 'ZREM', group_names, 'ZADD', sizes, 'ZREM', sizes)
for i, name in ipairs(names) do index_group(group_names, sizes, {members = KEYS[first_group + i - 1]}, name) end
return {'OK'}
