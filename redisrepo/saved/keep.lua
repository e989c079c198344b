-- keep.lua: put something into a list that a user keeps, after all that is in it, or take it out.
--
-- uses types now
-- KEY kept    saved:NAME or following:NAME  zset  the list, by time, Unix seconds
-- ARG member  the number of an article, group:NAME or user:NAME
-- ARG keeps   1: put it in; 0: take it out
-- ARG most    maximum number of members
-- ARG now     now, Unix seconds; empty: the server's clock
--
-- Times are a millisecond apart at least: the order is that in which the members came, and no two have the same time.
--
-- Replies {'OK'}    the member is in the list, or is not, as keeps says
--         {'FULL'}  the list has the maximum number of members
-- Safe to run twice: the second run changes nothing.

local count = redis.call('ZCARD', kept)
if keeps ~= '1' then
  redis.call('ZREM', kept, member)
elseif not redis.call('ZSCORE', kept, member) then
  if count >= tonumber(most) then return {'FULL'} end
  local last = redis.call('ZRANGE', kept, -1, -1, 'WITHSCORES')
  redis.call('ZADD', kept, string.format('%.3f', math.max(tonumber(now_or(now)), (last[2] or 0) + 0.001)), member)
end
return {'OK'}
