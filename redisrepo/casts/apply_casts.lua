-- apply_casts.lua: bring the lists of users' votes of a partition up to an entry of the log.
--
-- uses now types cast_expiry
-- KEY views    views:  hash  how far the views have the log
-- KEYS cast    cast:USER:MONTH of each vote, a zset: what the voter voted on among the articles of that month
-- ARG from     id of the entry that the lists have, as the caller expects it; 0-0: none
-- ARG to       id of the entry that they have then
-- ARG window   voting window, seconds
-- ARG history  how long votes are kept, seconds; 0: for ever
-- ARG now      now, Unix seconds; empty: the server's clock
-- ARGS vote    four words for each vote: the number of the article, the position, the time of the vote, and 1 if the voter may be in
--              the list with the article, else 0
--
-- Replies {'OK'}
--         {'MOVED'}  the lists have another entry than from; nothing is changed
-- Safe to run twice: the second run finds the entry moved. A list of another type is left as it is, and check reports it.

if (redis.call('HGET', views, 'cast') or '0-0') ~= from then return {'MOVED'} end
now, history = now_or(now), tonumber(history)
for i = first_vote, #ARGV, 4 do
  local cast, number, position, at, may_have = KEYS[first_cast + (i - first_vote) / 4], ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3] == '1'
  local size = size_of(cast)
  if size then
    if position ~= '0' then redis.call('ZADD', cast, at, position == '1' and number or '-' .. number) end
    if size == 0 and history > 0 then
      redis.call('EXPIRE', cast, cast_expiry(string.match(cast, '%-?%d+$') * 2764800, window, history, now))
    elseif size >= 10000 then -- 0 says that older votes are missing
      redis.call('ZREMRANGEBYRANK', cast, 0, 99)
      redis.call('ZADD', cast, at, '0')
    end
    if may_have and position ~= '1' then redis.call('ZREM', cast, number) end
    if may_have and position ~= '-1' then redis.call('ZREM', cast, '-' .. number) end
  end
end
redis.call('HSET', views, 'cast', to)
return {'OK'}
