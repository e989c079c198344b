-- build.lua: put articles of one day into a calendar, that of the site or of a group.
--
-- uses types whole hour
-- KEY clock        clock: or clock:NAME  hash  fold pointer and peaks of the calendar
-- KEY times        time:                 zset  posting times, Unix seconds
-- KEY month_list   top:m:MONTH...        zset  the list of the 32 days
-- KEY day_list     top:d:DAY...          zset  the list of the day
-- KEYS hour        the lists of its 24 hours, then article:ID of each member
-- ARG group        name of the group; empty: the calendar is the site's
-- ARG day          the day
-- ARG last_folded  the last folded day of a calendar that does not exist yet
-- ARGS member      members of articles
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the articles in their lists. It leaves out an article that does not exist or is
-- deleted, or that is not in the group.

day = tonumber(day)
local month, first_article = math.floor(day / 32), first_hour + 24

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
for i, member in ipairs({unpack(ARGV, first_member)}) do
  local time, hash = redis.call('ZSCORE', times, member), redis.call('HMGET', KEYS[first_article + i - 1], 'votes', 'groups')
  local votes, is_in = whole(hash[1] or '0'), group == '' or string.find(' ' .. (hash[2] or '') .. ' ', ' ' .. group .. ' ', 1, true)
  local hour = time and hour_of(time)
  if votes and is_in and hour and math.floor(hour / 24) == day then
    if is_folded then
      put(day_list, 'p:d:' .. day, votes, member)
      put(month_list, string.format('p:m:%d', month), votes, member)
    else
      put(KEYS[first_hour + hour % 24], string.format('p:h:%d', hour), votes, member)
    end
  end
end

if is_new then redis.call('HSET', clock, 'folded', folded) end
for list, all in pairs(entries) do redis.call('ZADD', list, unpack(all)) end
for field, votes in pairs(peaks) do
  local peak = redis.call('HGET', clock, field)
  if not peak or tonumber(peak) < votes then redis.call('HSET', clock, field, votes) end
end
return {'OK'}
