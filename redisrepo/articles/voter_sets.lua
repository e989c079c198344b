-- time_to_keep returns how long the voters of an article are still kept: seconds, rounded up, from now to
-- margin after the end of its voting window. It is not positive if that time is over.
local function time_to_keep(time, window, margin, now)
  return math.ceil(tonumber(time) + tonumber(window) + tonumber(margin) - tonumber(now))
end

-- add_placeholders adds the voters import:first to import:last. They stand for the voters of an import, and
-- differ from the members of users.
local function add_placeholders(set, first, last)
  local batch = {}
  for i = first, last do
    batch[#batch + 1] = string.format('import:%d', i)
    if #batch == 1000 or i == last then
      redis.call('SADD', set, unpack(batch))
      batch = {}
    end
  end
end
