-- trim.lua: drop entries of the log that all views have: those that are no events of the change feed, and the oldest beyond the
-- number that is kept. The newest entry stays: those who read the log look for the last one that they have.
--
-- KEY events  events:  stream  the log
-- KEY views   views:   hash    how far the views have the log, and how many of its entries are no events
-- ARG kept    number of events that are kept
-- ARG most    number of entries that are looked at
-- ARGS view   names of the views
--
-- Replies {'OK', done}  the number of entries that were dropped or looked at; if it is most, there may be more
-- Safe to run twice: the second run finds less to drop.

-- is_after reports whether an id is that of a later entry.
local function is_after(id, other)
  local time, count = string.match(id, '(%d+)-(%d+)')
  local other_time, other_count = string.match(other, '(%d+)-(%d+)')
  time, other_time = tonumber(time), tonumber(other_time)
  return time > other_time or time == other_time and tonumber(count) > tonumber(other_count)
end

local bound = nil -- the last entry that all views have
for i = first_view, #ARGV do
  local at = redis.call('HGET', views, ARGV[i]) or '0-0'
  if not bound or is_after(bound, at) then bound = at end
end
local dropped = 0
local function drop(id)
  redis.call('XDEL', events, id)
  dropped = dropped + 1
end

local function is_hidden(entry) return entry[2][2] == 'imported' or entry[2][2] == 'noticed' end

-- Entries that are no events of the feed are of no use any more: they are looked for after the place where that ended before.
local hidden, looked = tonumber(redis.call('HGET', views, 'hidden') or 0), 0
if hidden > 0 then
  local last, newest = redis.call('HGET', views, 'looked') or '0-0', redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
  for _, entry in ipairs(redis.call('XRANGE', events, '(' .. last, bound or '+', 'COUNT', most)) do
    if entry[1] == newest[1] then
      hidden = is_hidden(newest) and 1 or 0 -- all were seen
      break
    end
    last, looked = entry[1], looked + 1
    if is_hidden(entry) then
      drop(last)
      hidden = math.max(hidden - 1, 0)
    end
  end
  redis.call('HSET', views, 'hidden', hidden, 'looked', last)
end
local excess = redis.call('XLEN', events) - hidden - kept
if excess > 0 and looked < tonumber(most) then
  for _, entry in ipairs(redis.call('XRANGE', events, '-', bound or '+', 'COUNT', math.min(excess, most))) do drop(entry[1]) end
end
return {'OK', math.max(dropped, looked)}
