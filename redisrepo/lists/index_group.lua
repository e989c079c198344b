-- index_group puts a group into the indexes by name and by size, or removes one without articles from them. Sizes are
-- negated: the largest groups come first, and those of one size in the order of their names.
local function index_group(group_names, sizes, group, name)
  local size = redis.call('SCARD', group.members)
  if size > 0 then
    redis.call('ZADD', group_names, 0, name)
    redis.call('ZADD', sizes, -size, name)
  else
    redis.call('ZREM', group_names, name)
    redis.call('ZREM', sizes, name)
  end
end
