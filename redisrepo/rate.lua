-- rate.lua: record charges, unless they exceed the limits of their rules.
--
-- KEYS[1...] limit:RULE:SUBJECT  string  amount in the current window; expires with the window
-- ARGV[1]    the gate: a rule that, when exceeded, keeps everything from being recorded; or empty
-- ARGV[2...] four for each key: its rule, the maximum amount in a window, the window in milliseconds, the
--            amount to record
--
-- Replies {'OK', {{kept, amount in the window, milliseconds left of it}, ...}}
--         one for each key; kept is 0 if the key's rule, which may have several keys, is exceeded. Then
--         nothing is recorded for that rule and, if it is the gate, for any other.
-- Safe to run twice: the second run records the amounts again, so less is left.

local gate = ARGV[1]
local counts, exceeded = {}, {}
for i, key in ipairs(KEYS) do
  local rule, most, amount = ARGV[4 * i - 2], tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i + 1])
  counts[i] = whole(redis.call('GET', key) or '0')
  if not counts[i] then return redis.error_reply('CORRUPT count of the rule ' .. rule) end
  if counts[i] + amount > most then exceeded[rule] = true end
end

local replies = {}
for i, key in ipairs(KEYS) do
  local rule, window, amount = ARGV[4 * i - 2], ARGV[4 * i], ARGV[4 * i + 1]
  if not exceeded[gate] and not exceeded[rule] then
    counts[i] = redis.call('INCRBY', key, amount)
  end
  local left = redis.call('PTTL', key)
  if left == -1 then -- a new key
    redis.call('PEXPIRE', key, window)
  end
  replies[i] = {exceeded[rule] and 0 or 1, counts[i], left > 0 and left or tonumber(window)}
end
return {'OK', replies}
