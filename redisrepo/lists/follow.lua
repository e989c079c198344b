-- follow.lua: give the articles of entries of the log their places in the stored listings of groups.
--
-- uses refresh
-- KEY views     views:  hash  how far the views have the log
-- KEYS listing  three keys for each: the listing, a zset, its group, a set, and the ranking of all articles in the same order, a zset
-- ARG from      id of the entry that the listings have, as the caller expects it; 0-0: none
-- ARG to        id of the entry that they have then
-- ARGS place    two words for each: the number of a listing, and the member of an article
--
-- Replies {'OK'}     the listings have the articles where they belong
--         {'MOVED'}  the listings have another entry than from; nothing is changed
-- Safe to run twice: the second run finds the entry moved. A listing that does not exist is not built. One that is of another type
-- is left as it is, and check reports it.

if (redis.call('HGET', views, 'listing') or '0-0') ~= from then return {'MOVED'} end

local is_stored = {}
for i = first_place, #ARGV, 2 do
  local key = first_listing + 3 * (ARGV[i] - 1)
  if is_stored[key] == nil then
    local size = redis.pcall('ZCARD', KEYS[key])
    is_stored[key] = type(size) == 'number' and size > 0
  end
  if is_stored[key] then refresh(KEYS[key], KEYS[key + 1], KEYS[key + 2], ARGV[i + 1]) end
end
redis.call('HSET', views, 'listing', to)
return {'OK'}
