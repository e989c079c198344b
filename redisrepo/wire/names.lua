-- words returns the words of a text.
local function words(text)
  local list = {}
  for word in string.gmatch(text, '[^ ]+') do list[#list + 1] = word end
  return list
end
