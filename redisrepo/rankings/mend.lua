-- mend.lua: note in the log the votes that an article has, and put it into the group interesting if it has enough, after a
-- legacy client voted.
--
-- uses types now whole append groups
-- KEY article            article:ID            hash    the article
-- KEY scores             score:                zset    the ranking, Unix seconds
-- KEY members            group:interesting     set     the interesting articles
-- KEY by_score           score:interesting     zset    its listing by score; need not exist
-- KEY by_time            time:interesting      zset    its listing by time; need not exist
-- KEY hours              top:h:HOUR...         zset    articles by net votes, of the hour of posting
-- KEY days               top:d:DAY...          zset    the same of the day
-- KEY events             events:               stream  the log
-- KEY views              views:                hash    the number of entries that are no events
-- ARG member             the article's member
-- ARG time               its posting time, Unix seconds
-- ARG interesting_votes  net votes that make an article interesting
-- ARG now                now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', changed}  1 if the article had other votes in the calendar, which had the whole log before, else 0
-- Safe to run twice: the second run notes the same.

local hash = redis.call('HMGET', article, 'votes', 'groups')
local votes, score = whole(hash[1]), redis.call('ZSCORE', scores, member)
local listed = tonumber(redis.call('ZSCORE', hours, member) or redis.call('ZSCORE', days, member) or nil)
if not votes or not score or not listed or votes == listed then return {'OK', 0} end
local interesting = read_group(members, by_score, by_time, member)
notice(events, views, member, votes, time, hash[2] or '', now_or(now))
if votes >= tonumber(interesting_votes) then enter(interesting, member, score, time) end
return {'OK', 1}
