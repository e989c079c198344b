-- unschedule removes an article from a checked calendar. Peaks stay: they are bounds.
local function unschedule(calendar, member)
  for _, list in ipairs({calendar.hours, calendar.days, calendar.months}) do redis.call('ZREM', list, member) end
end
