-- applycasts.lua: enter the votes in entries of the log into the lists of their voters.
--
-- uses now cast_expiry
-- KEY views    views:           hash  how far the views have the log
-- KEYS cast    cast:USER:MONTH  zset  the lists: what a user voted on among the articles of a month
-- ARG from     id of the entry that the lists have, as the caller expects it; 0-0: none
-- ARG to       id of the entry that they have then
-- ARG window   voting window, seconds
-- ARG history  how long votes are kept, seconds; 0: for ever
-- ARG now      now, Unix seconds; empty: the server's clock
-- ARGS vote    four words for each: the number of its list, the article's number, the position, and when it was cast, Unix seconds
--
-- Replies {'OK'}     the lists have the votes
--         {'MOVED'}  the lists have another entry than from; nothing is changed
-- Safe to run twice: the second run finds the entry moved. A list that is of another type does not stop it: the list
-- is left as it is, and check reports it.

if (redis.call('HGET', views, 'cast') or '0-0') ~= from then return {'MOVED'} end
now = now_or(now)
history = tonumber(history)

for i = first_vote, #ARGV, 4 do
  local cast = KEYS[first_cast + ARGV[i] - 1]
  local up = ARGV[i + 1]
  local down = '-' .. up
  local position = ARGV[i + 2]
  local at = ARGV[i + 3]
  local size = redis.pcall('ZCARD', cast)
  if type(size) == 'number' then
    if position ~= '0' then redis.call('ZADD', cast, at, position == '1' and up or down) end
    if position ~= '1' then redis.call('ZREM', cast, up) end
    if position ~= '-1' then redis.call('ZREM', cast, down) end
    if size == 0 and history > 0 then
      local month = tonumber(string.match(cast, '%-?%d+$'))
      redis.call('EXPIRE', cast, cast_expiry(month * 2764800, window, history, now))
    end
    if size >= 10000 and position ~= '0' then -- 0 says that older votes are missing
      redis.call('ZREMRANGEBYRANK', cast, 0, 99)
      redis.call('ZADD', cast, at, '0')
    end
  end
end
redis.call('HSET', views, 'cast', to)
return {'OK'}
