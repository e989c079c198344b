-- describe.lua: keep what a group is about, and its rules, or forget them, and log it.
--
-- uses types moderation now
-- KEY described  described:   hash    what moderators say about groups
-- KEY log        moderation:  stream  the moderation log
-- ARG group    name of the group
-- ARG text     JSON; empty: nothing is said
-- ARG now      now, Unix seconds; empty: the server's clock
-- ARG max_entries  approximate maximum number of entries in the log
-- ARG by       member of the moderator
-- ARG via      member of the service that acts for them; empty: none
--
-- Replies {'OK'}
-- Safe to run twice: the second run finds the text, and changes nothing. If another call came between, it writes the same again.

if (redis.call('HGET', described, group) or '') == text then return {'OK'} end
if text == '' then
  redis.call('HDEL', described, group)
else
  redis.call('HSET', described, group, text)
end
log_moderation(log, max_entries, 'edited', 'group:' .. group, by, via, now_or(now))
return {'OK'}
