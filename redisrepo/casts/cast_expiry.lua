-- cast_expiry returns how long a user's votes on the articles of a month of 32 days are still kept: seconds, from now to
-- history after the last vote on one of them can be cast.
local function cast_expiry(time, window, history, now)
  return math.ceil((math.floor(tonumber(time) / 2764800) + 1) * 2764800 + window + history - now)
end
