-- hour_of returns the hour of a posting time, Unix seconds, as HourOf in time.go of package site does.
local function hour_of(time)
  return math.floor(math.max(-9e12, math.min(9e12, tonumber(time))) / 3600)
end
