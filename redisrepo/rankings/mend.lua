-- mend.lua: give an article in a calendar the votes that it has, after a legacy client voted.
--
-- KEYS[1] article:ID           hash  the article
-- KEYS[2] clock: or clock:NAME hash  fold pointer and peaks of the calendar
-- KEYS[3] top:h:HOUR...        zset  articles by net votes, of the hour of posting
-- KEYS[4] top:d:DAY...         zset  the same of the day
-- KEYS[5] top:m:MONTH...       zset  the same of the 32 days
-- ARGV[1] the article's member
--
-- Replies {'OK', changed}  1 if the article had other votes in the calendar, else 0
-- Safe to run twice: the second run finds the votes right.

local article, member = KEYS[1], ARGV[1]
local calendar = calendar_at(2)
local votes = whole(redis.call('HGET', article, 'votes'))
local listed = tonumber(redis.call('ZSCORE', calendar.hours, member) or redis.call('ZSCORE', calendar.days, member) or nil)
if not votes or not listed or votes == listed then return {'OK', 0} end
check_calendar(calendar)
schedule(calendar, member, votes)
return {'OK', 1}
