-- is_after reports whether an id is that of a later entry.
local function is_after(id, other)
  local time, count = string.match(id, '(%d+)-(%d+)')
  local other_time, other_count = string.match(other, '(%d+)-(%d+)')
  time, other_time = tonumber(time), tonumber(other_time)
  return time > other_time or time == other_time and tonumber(count) > tonumber(other_count)
end
