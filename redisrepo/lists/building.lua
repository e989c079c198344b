-- building returns the member of the listing of a group that says how far it is built (see gather.lua), nil if it is complete.
local function building(listing)
  return string.match(redis.call('ZRANGE', listing, 0, 0)[1] or '', '^building:.*')
end
