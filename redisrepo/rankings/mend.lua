-- mend.lua: give an article in a calendar the votes that it has, after a legacy client voted.
--
-- uses whole calendar
-- KEY article  article:ID            hash  the article
-- KEY clock    clock: or clock:NAME  hash  fold pointer and peaks of the calendar
-- KEY hours    top:h:HOUR...         zset  articles by net votes, of the hour of posting
-- KEY days     top:d:DAY...          zset  the same of the day
-- KEY months   top:m:MONTH...        zset  the same of the 32 days
-- ARG member   the article's member
--
-- Replies {'OK', changed}  1 if the article had other votes in the calendar, else 0
-- Safe to run twice: the second run finds the votes right.

local calendar = {clock = clock, hours = hours, days = days, months = months}
local votes = whole(redis.call('HGET', article, 'votes'))
local listed = tonumber(redis.call('ZSCORE', calendar.hours, member) or redis.call('ZSCORE', calendar.days, member) or nil)
if not votes or not listed or votes == listed then return {'OK', 0} end
check_calendar(calendar)
schedule(calendar, member, votes)
return {'OK', 1}
