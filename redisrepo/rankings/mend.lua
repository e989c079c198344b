-- mend.lua: give an article in a calendar the votes that it has, and put it into the group interesting if they make it
-- that, after a legacy client voted.
--
-- uses whole calendar groups
-- KEY article            article:ID            hash  the article
-- KEY scores             score:                zset  the ranking, Unix seconds
-- KEY members            group:interesting     set   the interesting articles
-- KEY by_score           score:interesting     zset  its listing by score; need not exist
-- KEY by_time            time:interesting      zset  its listing by time; need not exist
-- KEY clock              clock: or clock:NAME  hash  fold pointer and peaks of the calendar
-- KEY hours              top:h:HOUR...         zset  articles by net votes, of the hour of posting
-- KEY days               top:d:DAY...          zset  the same of the day
-- KEY months             top:m:MONTH...        zset  the same of the 32 days
-- ARG member             the article's member
-- ARG time               its posting time, Unix seconds
-- ARG interesting_votes  net votes that make an article interesting
--
-- Replies {'OK', changed}  1 if the article had other votes in the calendar, else 0
-- Safe to run twice: the second run finds the votes right.

local calendar = {clock = clock, hours = hours, days = days, months = months}
local votes, score = whole(redis.call('HGET', article, 'votes')), redis.call('ZSCORE', scores, member)
local listed = tonumber(redis.call('ZSCORE', calendar.hours, member) or redis.call('ZSCORE', calendar.days, member) or nil)
if not votes or not score or not listed or votes == listed then return {'OK', 0} end
local interesting = {members = members, by_score = by_score, by_time = by_time}
check_group(interesting, member)
check_calendar(calendar)
must_be_changeable(interesting)
schedule(calendar, member, votes)
if votes >= tonumber(interesting_votes) then enter(interesting, member, score, time) end
return {'OK', 1}
