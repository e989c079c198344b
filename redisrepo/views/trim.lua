-- trim.lua: drop entries of the log that all views have: those that are no events of the change feed, and the oldest beyond the
-- number of events that the feed keeps. The newest entry stays, and those shortly before it: a reader of the log looks for the last
-- entry that it has.
--
-- uses types
-- KEY events       events:  stream  the log
-- KEY views        views:   hash    how far the views have the log, how many of its entries are no events, and the last event that was dropped
-- ARG events_kept  number of events that are kept
-- ARG max_entries  maximum number of entries that are looked at
-- ARG young_ms     milliseconds: entries that are at most so much older than the newest stay
-- ARGS view        names of the views
--
-- Replies {'OK', done}  the number of entries that were dropped or looked at; if it is max_entries, there may be more
-- Safe to run twice: the second run finds less to drop.

-- is_after reports whether an id is that of a later entry.
local function is_after(id, other)
  local time, count = string.match(id, '(%d+)-(%d+)')
  local other_time, other_count = string.match(other, '(%d+)-(%d+)')
  time, other_time = tonumber(time), tonumber(other_time)
  return time > other_time or time == other_time and tonumber(count) > tonumber(other_count)
end

local hidden, looked, dropped = tonumber(redis.call('HGET', views, 'hidden') or 0), 0, 0
local excess = redis.call('XLEN', events) - hidden - events_kept
local is_noted = redis.call('HGET', views, 'since')
if is_noted and hidden <= 0 and excess <= 0 then return {'OK', 0} end
local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
-- Earlier versions did not note what they dropped. A log that is full may have dropped all before its oldest entry.
if not is_noted then
  redis.call('HSET', views, 'since', newest and newest[1] or '0-0')
  if newest and excess >= 0 then redis.call('HSET', views, 'dropped', redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1][1]) end
end
if not newest or hidden <= 0 and excess <= 0 then return {'OK', 0} end
local time, count = string.match(newest[1], '(%d+)-(%d+)')
local first_young = string.format('%.0f-%s', math.max(time - young_ms, 0), count)
local bound = '(' .. first_young -- of what may be dropped
for i = first_view, #ARGV do
  local at = redis.call('HGET', views, ARGV[i]) or '0-0'
  if is_after(first_young, at) then first_young, bound = at, at end
end
local function is_hidden(entry) return entry[2][2] == 'imported' or entry[2][2] == 'noticed' end
local function drop(id)
  redis.call('XDEL', events, id)
  dropped = dropped + 1
end

-- Entries that are no events of the feed are of no use any more: they are looked for after the place where that ended before.
if hidden > 0 then
  local last = redis.call('HGET', views, 'looked') or '0-0'
  if is_after(last, newest[1]) then last = '0-0' end -- the store went back
  for _, entry in ipairs(redis.call('XRANGE', events, '(' .. last, bound, 'COUNT', max_entries)) do
    last, looked = entry[1], looked + 1
    if is_hidden(entry) then
      drop(last)
      hidden = math.max(hidden - 1, 0)
    end
  end
  if looked > 0 then redis.call('HSET', views, 'hidden', hidden, 'looked', last) end
end
if excess > 0 and looked < tonumber(max_entries) then
  local last
  for _, entry in ipairs(redis.call('XRANGE', events, '-', bound, 'COUNT', math.min(excess, max_entries))) do
    drop(entry[1])
    if not is_hidden(entry) then last = entry[1] end
  end
  if last then redis.call('HSET', views, 'dropped', last) end -- readers compare their positions with it
end
return {'OK', math.max(dropped, looked)}
