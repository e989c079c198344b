-- cast_expiry returns how long a user's votes on the articles of a month of 32 days are still kept: seconds, from now to
-- history after the last vote on one of them can be cast.
local function cast_expiry(time, window, history, now)
  return math.ceil((math.floor(tonumber(time) / 2764800) + 1) * 2764800 + window + history - now)
end

-- is_of_month reports whether a key cast:USER:MONTH is that of articles which were posted in the month of a time.
local function is_of_month(cast, time)
  return tonumber(string.match(cast, '%-?%d+$')) == math.floor(math.min(time, 9e12) / 2764800)
end
