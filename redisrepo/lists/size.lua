-- size.lua: bring the indexes of groups up to date with the sets of some groups.
--
-- uses types index_group
-- KEY group_names  groups:  zset  the names of all groups
-- KEY sizes        sizes:   zset  the names of all groups by negated number of articles
-- KEYS group       group:NAME of each name
-- ARGS name        names of groups
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the indexes up to date.

local names = {unpack(ARGV, first_name)}
for i, name in ipairs(names) do index_group(group_names, sizes, {members = KEYS[first_group + i - 1]}, name) end
return {'OK'}
