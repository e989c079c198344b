-- now_or returns clock, Unix seconds, or the time of the server if it is empty.
local function now_or(clock)
  return clock ~= '' and clock or redis.call('TIME')[1]
end
