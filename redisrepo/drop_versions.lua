-- drop_versions deletes the oldest versions of a history beyond max_versions, but neither the first nor the best.
local function drop_versions(history, max_versions, best)
  local kept = {}
  for _, field in ipairs(redis.call('HKEYS', history)) do
    if field ~= 'best' then kept[#kept + 1] = tonumber(field) end
  end
  table.sort(kept, function(a, b) return a < b end)
  local excess = #kept - max_versions
  for _, number in ipairs(kept) do
    if excess > 0 and number ~= 1 and number ~= best then
      redis.call('HDEL', history, number)
      excess = excess - 1
    end
  end
end
