-- uses allowed types

-- check_calendar ends the script with an error if a key of a calendar has another type than it must have, or if the user
-- may not change it, and notes up to which day it is folded. The calendar of a group that has none yet begins like that of
-- all articles, whose clock is given for a group.
local function check_calendar(calendar, clock)
  calendar.folded = tonumber(redis.call('HGET', calendar.clock, 'folded'))
  if clock and redis.call('HLEN', calendar.clock) == 0 then
    calendar.folded = tonumber(redis.call('HGET', clock, 'folded'))
    calendar.begins = calendar.folded
  end
  local hours, days, months = calendar.hours, calendar.days, calendar.months
  must_be_zset(hours, days, months)
  must_be_allowed('ZADD', hours, 'ZADD', days, 'ZADD', months, 'ZREM', hours, 'ZREM', days, 'ZREM', months,
    'HGET', calendar.clock, 'HSET', calendar.clock)
end

-- calendars_of returns the calendars that an article is in, checked: that of all articles, and those of its groups; none if
-- the feature is off.
local function calendars_of(all, groups, features)
  if not string.find(features, 'calendar', 1, true) then return {} end
  local calendars = {all}
  check_calendar(all)
  for _, group in pairs(groups) do
    if group.calendar then
      check_calendar(group.calendar, all.clock)
      calendars[#calendars + 1] = group.calendar
    end
  end
  return calendars
end

-- schedule puts an article into the lists of a checked calendar for its posting time, with its votes, and raises their peaks:
-- no article of a list has more votes. That is the list of the hour, and when the day is folded those of the day and the 32
-- days. A list that has an article has a peak.
local function schedule(calendar, member, votes)
  if calendar.begins then redis.call('HSET', calendar.clock, 'folded', calendar.begins) end
  local is_folded = calendar.folded and tonumber(string.match(calendar.days, 'd:(%-?%d+)')) <= calendar.folded
  for _, list in ipairs(is_folded and {calendar.days, calendar.months} or {calendar.hours}) do
    redis.call('ZADD', list, votes, member)
    local peak_of = 'p:' .. string.match(list, 'top:(%a:%-?%d+)')
    local peak = tonumber(redis.call('HGET', calendar.clock, peak_of))
    if not peak or votes > peak then redis.call('HSET', calendar.clock, peak_of, votes) end
  end
end
