-- rate.lua: count what somebody does, unless it is more than is allowed.
--
-- KEYS[1...] limit:NAME:WHO  string  amount in the window that the key lives
-- ARGV[1]    the rule without which nothing is done, or empty
-- ARGV[2...] four for each key: its rule, the most in a window, the window in
--            milliseconds, the amount
--
-- Replies {'OK', {{kept, amount in the window, milliseconds left of it}, ...}}
--         with one for each key; kept is 0 when its rule, which may have several keys, is
--         broken. Of a broken rule nothing is counted, and nothing at all when
--         it is ARGV[1].
-- Safe to run twice: the second run counts again, so that less is allowed.

local counts, broken = {}, {}
for i, key in ipairs(KEYS) do
  local rule, most, amount = ARGV[4 * i - 2], tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i + 1])
  counts[i] = whole(redis.call('GET', key) or '0')
  if not counts[i] then return redis.error_reply('CORRUPT count of the rule ' .. rule) end
  if counts[i] + amount > most then broken[rule] = true end
end

local replies = {}
for i, key in ipairs(KEYS) do
  local rule, window, amount = ARGV[4 * i - 2], ARGV[4 * i], ARGV[4 * i + 1]
  if not broken[ARGV[1]] and not broken[rule] then
    counts[i] = redis.call('INCRBY', key, amount)
  end
  local left = redis.call('PTTL', key)
  if left == -1 then -- it is new
    redis.call('PEXPIRE', key, window)
  end
  replies[i] = {broken[rule] and 0 or 1, counts[i], left > 0 and left or tonumber(window)}
end
return {'OK', replies}
