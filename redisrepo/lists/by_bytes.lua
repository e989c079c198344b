-- by_bytes compares names as Go does: < would depend on the locale of the server.
local function by_bytes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
