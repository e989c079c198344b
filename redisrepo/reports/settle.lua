-- settle.lua: decide the open reports of an article without deleting it. To delete it in the same step, delete.lua does this, too.
--
-- uses types settling now
-- KEY article         article:ID    hash    the article
-- KEY flags           flags:ID      hash    its reports
-- KEY flagged         flagged:      zset    the articles with open reports
-- KEY contacts        contact:ID:N  hash    the contacts of its notices after the N decisions that settling names
-- KEY later_contacts  contact:ID:N  hash    those after one decision more
-- KEY log             moderation:   stream  the moderation log
-- KEY events          events:       stream  the log
-- ARG member          the article's member
-- ARG by              the moderator's member
-- ARG via             the member of the service that acts for by, or empty
-- ARG settled         what is decided, as settling_of takes it
-- ARG reason          the reason for the log; may be empty
-- ARG ground          the ground; may be empty
-- ARG basis           the rule or the law; may be empty
-- ARG max_entries     approximate maximum number of entries in the log
-- ARG now             now, Unix seconds; empty: the server's clock
-- ARG ranking         the ranking, as worth.lua takes it
--
-- Replies {'OK'}             they are decided, by this call or before by the same moderator in the same words
--         {'NOT_FOUND'}      the article does not exist
--         {'CONFLICT'}       there is no open report up to this one: it was decided or changed, or never made
--         {'STALE_REPORTS'}  reports were decided more often than the caller expects: look, and call again
-- Safe to run twice: the second run finds the decision and changes nothing.

local hash = redis.call('HMGET', article, 'time', 'title', 'link')
if not hash[1] then return {'NOT_FOUND'} end
local settling, problem = settling_of(flags, flagged, contacts, later_contacts, settled, by)
if problem == 'CONFLICT' then return {'CONFLICT'} end
if problem then return {'STALE_REPORTS'} end
local standing = standing_of(article, ranking)
if not standing then return redis.error_reply('CORRUPT time, votes or revision of ' .. member) end
settle(settling, events, standing, log, max_entries, member, by, via, now_or(now),
  'title', hash[2] or '', 'link', hash[3] or '', 'reason', reason, 'ground', ground, 'basis', basis)
return {'OK'}
