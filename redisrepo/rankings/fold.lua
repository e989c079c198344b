-- fold.lua: fold one day of a calendar: its articles leave the lists of the hours for those of the day and the 32 days.
--
-- uses types now
-- KEY clock       clock: or clock:NAME  hash  fold pointer and peaks of the calendar
-- KEY day_list    top:d:DAY...          zset  the list of the day
-- KEY month_list  top:m:MONTH...        zset  the list of its 32 days
-- KEYS hour       top:h:HOUR...         zset  the lists of its 24 hours
-- ARG day         the day
-- ARG unfolded    how many days are not folded, counted back from today
-- ARG now         now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', folded, next}  up to this day all are folded, empty if the calendar has no article yet; the next day to
--                              fold, or empty: none is due
--         {'STALE', day}        this day is to be folded first
-- Safe to run twice: the second run finds the day folded and changes nothing.
--
-- Days without articles need no call: which have some is known from the peaks of hours.

day = tonumber(day)
local last = math.floor(tonumber(now_or(now)) / 86400) - tonumber(unfolded)

local first, next_day
local fields, state = redis.call('HGETALL', clock), {}
for i = 1, #fields, 2 do
  state[fields[i]] = tonumber(fields[i + 1])
  local hour = string.match(fields[i], '^p:h:(%-?%d+)$')
  local its_day = hour and math.floor(hour / 24)
  if hour and its_day <= last then
    if not first or its_day < first then first = its_day end
    if its_day > day and (not next_day or its_day < next_day) then next_day = its_day end
  end
end
if #fields == 0 then return {'OK', '', ''} end -- there is no such calendar
if first and first ~= day then return {'STALE', string.format('%d', first)} end
local folded = math.max(state.folded or -math.huge, (next_day or last + 1) - 1)

if first then
  local month = string.match(month_list, 'top:(m:%-?%d+)')
  local peak, month_peak = state['p:d:' .. day] or -math.huge, state['p:' .. month]
  for i = first_hour, #KEYS do
    local hour = string.match(KEYS[i], 'top:(h:%-?%d+)')
    for rank = 0, redis.call('ZCARD', KEYS[i]) - 1, 1000 do
      local found, added = redis.call('ZRANGE', KEYS[i], rank, rank + 999, 'WITHSCORES'), {}
      for k = 1, #found, 2 do added[k], added[k + 1] = found[k + 1], found[k] end
      redis.call('ZADD', day_list, unpack(added))
      redis.call('ZADD', month_list, unpack(added))
    end
    peak = math.max(peak, state['p:' .. hour] or peak)
    redis.call('UNLINK', KEYS[i])
    redis.call('HDEL', clock, 'p:' .. hour)
  end
  redis.call('HSET', clock, 'p:d:' .. day, string.format('%d', peak))
  if not month_peak or peak > month_peak then redis.call('HSET', clock, 'p:' .. month, string.format('%d', peak)) end
end
if folded ~= state.folded then redis.call('HSET', clock, 'folded', folded) end
return {'OK', string.format('%d', folded), next_day and string.format('%d', next_day) or ''}
