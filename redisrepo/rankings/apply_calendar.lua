-- apply_calendar.lua: bring the calendars of a partition up to an entry of the log.
--
-- KEY views    views:               hash  how far the views have the log
-- KEYS clock   clock: and clock:NAME of the calendars that change, hashes: fold pointers and peaks; that of the site is the first.
--              Then, for each hour of posting in a calendar, top:h:HOUR, top:d:DAY and top:m:MONTH with :NAME, zsets
-- ARG from     id of the entry that the calendars have, as the caller expects it; 0-0: none
-- ARG to       id of the entry that they have then
-- ARG due      day up to which all calendars should be folded
-- ARG clocks   number of clocks
-- ARGS change  four words for each article in a calendar: the number of its clock, the number of its hour, its member, and its
--              net votes; empty: it leaves the calendar
--
-- Replies {'OK', clock, ...}  the clocks whose calendars are to be folded
--         {'MOVED'}           the calendars have another entry than from; nothing is changed
-- Safe to run twice: the second run finds the entry moved. A list that is of another type does not stop it: the list
-- is left as it is, and check reports it.

if (redis.call('HGET', views, 'calendar') or '0-0') ~= from then return {'MOVED'} end

-- calendars are by number: their clocks, fold pointers, and peaks of some lists. That of a group that has none yet begins as if
-- it were folded: it has nothing to fold.
local calendars, first_list = {}, first_clock + clocks
for i = 1, tonumber(clocks) do
  local clock = KEYS[first_clock + i - 1]
  local folded = redis.call('HGET', clock, 'folded')
  if not folded and i > 1 and redis.call('HLEN', clock) == 0 then
    folded = due
    redis.call('HSET', clock, 'folded', folded)
  end
  calendars[i] = {clock = clock, folded = tonumber(folded or nil), peaks = {}}
end

-- raise notes that an article of a list has so many votes: no article of it has more than its peak, and a list that has an
-- article has a peak.
local function raise(calendar, list, votes)
  local field = 'p:' .. string.match(list, 'top:(%a:%-?%d+)')
  local peak = calendar.peaks[field] or tonumber(redis.call('HGET', calendar.clock, field) or nil)
  if not peak or votes > peak then
    redis.call('HSET', calendar.clock, field, string.format('%d', votes))
    peak = votes
  end
  calendar.peaks[field] = peak
end

local is_list = {}
for i = first_list, #KEYS do is_list[KEYS[i]] = type(redis.pcall('ZCARD', KEYS[i])) == 'number' end
for i = first_change, #ARGV, 4 do
  local calendar, k = calendars[tonumber(ARGV[i])], first_list + 3 * (ARGV[i + 1] - 1)
  local hour_list, day_list, month_list, member, votes = KEYS[k], KEYS[k + 1], KEYS[k + 2], ARGV[i + 2], tonumber(ARGV[i + 3])
  local is_folded = calendar.folded and tonumber(string.match(day_list, 'd:(%-?%d+)')) <= calendar.folded
  for _, list in ipairs(not votes and {hour_list, day_list, month_list} or is_folded and {day_list, month_list} or {hour_list}) do
    if is_list[list] and votes then
      redis.call('ZADD', list, votes, member)
      raise(calendar, list, votes)
    elseif is_list[list] then
      redis.call('ZREM', list, member) -- peaks stay: they are bounds
    end
  end
end
redis.call('HSET', views, 'calendar', to)

local reply = {'OK'}
for _, calendar in ipairs(calendars) do
  if not calendar.folded or calendar.folded < tonumber(due) then reply[#reply + 1] = calendar.clock end
end
return reply
