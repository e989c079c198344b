-- whole parses an integer, and returns nil for any other text.
local function whole(text)
  local number = tonumber(text)
  return number and number % 1 == 0 and number
end
