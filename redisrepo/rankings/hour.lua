-- hour_of returns the hour of a posting time, Unix seconds, as HourOf in hour.go of package site does.
local function hour_of(time)
  return math.floor(math.max(-9e12, math.min(9e12, tonumber(time))) / 3600)
end

-- posted_in reports whether the list of an hour is that of articles posted at a time, Unix seconds.
local function posted_in(list, time)
  return tonumber(string.match(list, 'h:(%-?%d+)')) == hour_of(time)
end
