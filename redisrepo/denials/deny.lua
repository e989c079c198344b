-- deny.lua: set or end the denial of a user or a host, and log it.
--
-- uses types moderation now
-- KEY denials         denials:     hash    all denials
-- KEY log             moderation:  stream  the moderation log
-- ARG field           user:NAME or host:NAME, who or what is concerned
-- ARG ends            when it ends, Unix seconds; -: never
-- ARG details         ground, subdomains (1 or 0), and the moderator's member, separated by spaces, then the reason after a line break
-- ARG version         a text that no other call has
-- ARG now             now, Unix seconds; empty: the server's clock
-- ARG kept_after_end  how long a denial is kept that has ended, seconds
-- ARG max_entries     approximate maximum number of entries in the log
-- ARG by              member of the moderator
-- ARG via             member of the service that acts for them; empty: none
-- ARG ground          the ground
-- ARG reason          in words; empty: none
-- ARGS old            fields that may have ended that long ago; they are dropped if so
--
-- Replies {'OK', value}  the value of the field
--         {'NONE'}       there is no denial to end
-- Safe to run twice: the second run finds its version, and changes nothing. If another call came between, it writes the same again.

if redis.call('HGET', denials, 'version') == version then return {'OK', redis.call('HGET', denials, field)} end
now = now_or(now)
local function is_over(time) return time ~= '-' and tonumber(time) <= tonumber(now) end
if is_over(ends) and is_over(string.match(redis.call('HGET', denials, field) or '0', '^%S+')) then return {'NONE'} end
local value = string.format('%s %.0f %s', ends, tonumber(now), details)
local dropped = {}
for i = first_old, #ARGV do
  local ended = tonumber(string.match(redis.call('HGET', denials, ARGV[i]) or '', '^%d+'))
  if ended and ended + tonumber(kept_after_end) < tonumber(now) and ARGV[i] ~= field then dropped[#dropped + 1] = ARGV[i] end
end
redis.call('HSET', denials, field, value, 'version', version)
if #dropped > 0 then redis.call('HDEL', denials, unpack(dropped)) end
log_moderation(log, max_entries, is_over(ends) and 'allowed' or 'denied', field, by, via, now, 'until', ends, 'ground', ground, 'reason', reason)
return {'OK', value}
