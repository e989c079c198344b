-- uses types allowed

-- lists_at returns the keys of an article's lists, of which there are count, from KEYS[first] on. It ends the script with an
-- error if one of them is no sorted set, or may not be changed by the command.
local function lists_at(first, count, command)
  local lists = {unpack(KEYS, first, first + count - 1)}
  must_be_zset(unpack(lists))
  for _, list in ipairs(lists) do must_be_allowed(command, list) end
  return lists
end
