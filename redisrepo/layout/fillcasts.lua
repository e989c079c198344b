-- fillcasts.lua: enter the votes of an article's voters into the histories of these users.
--
-- uses types now whole cast_expiry
-- KEY article    article:ID    hash  the article
-- KEY voted      voted:ID      set   the upvoters
-- KEY downvoted  downvoted:ID  set   the downvoters
-- KEY audit      audit:ID      hash  each voter's last vote, its time and bucket
-- KEYS cast      cast:USER:MONTH of each voter: a zset, what the voter voted on among the articles of that month
-- ARG number     number of the article
-- ARG window     voting window, seconds
-- ARG history    how long votes are kept in cast:USER:MONTH, seconds; 0: for ever
-- ARG now        now, Unix seconds; empty: the server's clock
-- ARGS voter     members of voters; none: before the first ones, note that all votes of the article will be in the histories
--
-- Replies {'OK', time, upvoters, downvoters}  the posting time, empty if the article does not exist, and how many there are
-- Safe to run twice: the second run finds the votes in the histories. It leaves out a voter who is in neither set, or
-- whose older votes were dropped. A voter in both has upvoted over the downvote, by a program of the book.
-- A vote whose time is not known has that of posting.

window, history = tonumber(window), tonumber(history)

local hash = redis.call('HMGET', article, 'time', 'votes', 'downvotes', 'uncounted')
local time, votes, downvotes = tonumber(hash[1] or ''), whole(hash[2] or '0'), whole(hash[3] or '0')
if not time then return {'OK', '', 0, 0} end
time = math.max(-9e12, math.min(9e12, time)) -- a foreign one may be infinite
local upvoters, downvoters = redis.call('SCARD', voted), redis.call('SCARD', downvoted)
local voters = {unpack(ARGV, first_voter)}
if #voters == 0 then
  local all = votes and downvotes and upvoters == votes + downvotes + (hash[4] == '1' and 1 or 0) and downvoters == downvotes
  if all then
    redis.call('HSET', article, 'cast', votes)
  else -- some voters are forgotten
    redis.call('HDEL', article, 'cast')
  end
  return {'OK', hash[1], upvoters, downvoters}
end

local audited, posted = redis.call('HMGET', audit, unpack(voters)), string.format('%d', math.floor(time))
now = now_or(now)
for i, voter in ipairs(voters) do
  local cast, up, down = KEYS[first_cast + i - 1], redis.call('SISMEMBER', voted, voter), redis.call('SISMEMBER', downvoted, voter)
  if up + down > 0 and not redis.call('ZSCORE', cast, '0') then
    local position, at = string.match(audited[i] or '', '^(%-?%d) (%d+) ')
    if tonumber(position) ~= (up == 1 and 1 or -1) then at = posted end
    if redis.call('ZADD', cast, 'NX', at, up == 1 and number or '-' .. number) == 1 then
      redis.call('ZREM', cast, up == 1 and '-' .. number or number)
      local size = redis.call('ZCARD', cast)
      if size == 1 and history > 0 then
        redis.call('EXPIRE', cast, cast_expiry(time, window, history, now))
      elseif size > 10000 then -- 0 says that older votes are missing
        redis.call('ZREMRANGEBYRANK', cast, 0, 99)
        redis.call('ZADD', cast, now, '0')
      end
    end
  end
end
return {'OK', hash[1], upvoters, downvoters}
