-- words returns the words of a text.
local function words(text)
  local list = {}
  for word in string.gmatch(text, '[^ ]+') do list[#list + 1] = word end
  return list
end

-- has_name reports whether a key such as host:NAME has a name: an article without a link has no host.
local function has_name(key)
  return string.sub(key, -1) ~= ':'
end
