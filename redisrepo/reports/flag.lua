-- flag.lua: report an article to the moderators, or change a report of it that is open.
--
-- uses types reports now
-- KEY article     article:ID    hash  the article
-- KEY flags       flags:ID      hash  its reports
-- KEY flagged     flagged:      zset  the articles with open reports
-- KEY events      events:       stream  the log
-- KEY [contacts]  contact:ID:N  hash  the contacts of its notices after N decisions; only with contact
-- ARG number      the article's number
-- ARG by          the member of the user, or ! and the reference of a notice
-- ARG reason      the reason, a word
-- ARG note        in words; may be empty
-- ARG digest      the digest of a notice's secret; - for a user
-- ARG contact     the sealed contact of a notice; empty: none
-- ARG decisions   N, how often reports of the article were decided, as the caller expects it; unused without contact
-- ARG now         now, Unix seconds; empty: the server's clock
-- ARG ranking     the ranking, as worth.lua takes it
-- ARG only_check  1: reply what would be refused, and report nothing; else 0
--
-- A report that is changed gets a new number: a moderator who has seen it as it was does not decide it.
--
-- Replies {'OK', number}       the number of the report; 0 if it was only checked
--         {'DECIDED'}          it is decided, and cannot be changed
--         {'NOT_FOUND'}        the article does not exist, or is deleted
--         {'FORBIDDEN'}        the article is the reporter's own
--         {'STALE', decisions} how often reports were decided: call again with that
-- Safe to run twice: the second run finds the report with this reason and note, and changes nothing.

local hash = redis.call('HMGET', article, 'time', 'poster', 'deleted')
local head = redis.call('HMGET', flags, '0', 'decided', by)
local reports, mine = reports_of(head[1], head[2]), head[3]
local before = mine and report_of(redis.call('HGET', flags, mine))
if before and before.reason == reason and before.note == note then return {'OK', tonumber(mine)} end
if before and tonumber(mine) <= reports.through then return {'DECIDED'} end
if not hash[1] or hash[3] then return {'NOT_FOUND'} end
if hash[2] == by then return {'FORBIDDEN'} end
if contact ~= '' and reports.decisions ~= tonumber(decisions) then return {'STALE', reports.decisions} end

local standing = standing_of(article, ranking)
if not standing then return redis.error_reply('CORRUPT time, votes or revision of article:' .. number) end
if only_check == '1' then return {'OK', 0} end

now = now_or(now)
if reports.open == 0 then reports.since = tonumber(now) end
if before then
  count_report(reports, by, before.reason, -1)
  redis.call('HDEL', flags, mine)
end
count_report(reports, by, reason, 1)
reports.last = reports.last + 1
local at = before and before.at or tonumber(now)
redis.call('HSET', flags, reports.last, string.format('%s %.0f %s %s\n%s', reason, at, digest, by, note), by, reports.last)
if contact ~= '' then redis.call('HSET', contacts, reports.last, contact) end
keep_reports(flags, flagged, number, reports)
redis.call('PERSIST', flags)
tell_reports(events, 'flagged', 'article:' .. number, standing, '', now)
return {'OK', reports.last}
