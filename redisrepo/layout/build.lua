-- build.lua: put articles of one day into a calendar, that of the site or of a group.
--
-- KEYS[1]  clock: or clock:NAME  hash  fold pointer and peaks of the calendar
-- KEYS[2]  time:                 zset  posting times, Unix seconds
-- KEYS[3]  top:m:MONTH...        zset  the list of the 32 days
-- KEYS[4]  top:d:DAY...          zset  the list of the day
-- KEYS[5...]  the lists of its 24 hours, then article:ID of each of ARGV[4...]
-- ARGV[1]  name of the group; empty: the calendar is the site's
-- ARGV[2]  the day
-- ARGV[3]  the last folded day of a calendar that does not exist yet
-- ARGV[4...] members of articles
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the articles in their lists. It leaves out an article that does not exist or is
-- deleted, or that is not in the group.

local clock, times, month_list, day_list = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local hours, articles = {}, {}
for i = 5, #KEYS do
  if i < 29 then hours[i - 5] = KEYS[i] else articles[i - 25] = KEYS[i] end -- by the number of the argument
end
local group, day, last_folded = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local month = math.floor(day / 32)

local folded = redis.call('HGET', clock, 'folded')
local is_new = not folded and redis.call('HLEN', clock) == 0
if is_new then folded = last_folded end
local is_folded = folded and day <= tonumber(folded)

local entries = {} -- by list: votes and members in turn; peaks: by field
local peaks = {}
local function put(list, field, votes, member)
  entries[list] = entries[list] or {}
  table.insert(entries[list], votes)
  table.insert(entries[list], member)
  peaks[field] = math.max(peaks[field] or votes, votes)
end
for i = 4, #ARGV do
  local member = ARGV[i]
  local time, hash = redis.call('ZSCORE', times, member), redis.call('HMGET', articles[i], 'votes', 'groups')
  local votes, is_in = whole(hash[1] or '0'), group == '' or string.find(' ' .. (hash[2] or '') .. ' ', ' ' .. group .. ' ', 1, true)
  local hour = time and hour_of(time)
  if votes and is_in and hour and math.floor(hour / 24) == day then
    if is_folded then
      put(day_list, 'p:d:' .. ARGV[2], votes, member)
      put(month_list, string.format('p:m:%d', month), votes, member)
    else
      put(hours[hour % 24], string.format('p:h:%d', hour), votes, member)
    end
  end
end

for list in pairs(entries) do
  must_be_zset(list)
  must_be_allowed('ZADD', list)
end
must_be_allowed('HSET', clock)
if is_new then redis.call('HSET', clock, 'folded', folded) end
for list, all in pairs(entries) do redis.call('ZADD', list, unpack(all)) end
for field, votes in pairs(peaks) do
  local peak = redis.call('HGET', clock, field)
  if not peak or tonumber(peak) < votes then redis.call('HSET', clock, field, votes) end
end
return {'OK'}
