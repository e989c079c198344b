-- eraselog.lua: copy a part of a log without a name, and replace the log by the copy with the last part. The copy has the same ids,
-- so those who read the log go on in it.
--
-- uses types
-- KEY log           events: or moderation:         stream  the log
-- KEY copy          erasing:events:DIGEST, or so   stream  the copy
-- KEY old_log       erasing:events:DIGEST:old, or so  stream  the log while it is freed
-- KEY erasing       erasing:                       hash    how often the logs were replaced
-- KEY views         views:                         hash    the number of entries that are no events
-- ARG log_name      of the log: events or moderation
-- ARG digest        of the name
-- ARG written_name  how the log has the name
-- ARG replacement   what stands there afterwards
-- ARG max_entries   maximum number of entries that are copied
-- ARG copy_ttl      how long an incomplete copy is kept, seconds
-- ARGS emptied      numbers of articles whose title and link leave the log, too
--
-- If another copy has replaced the log meanwhile, this one is begun again: it has what that one left out.
--
-- Replies {'MORE'}  entries are left
--         {'OK'}    the log has no name
-- Safe to run twice: the second run copies the next part, or begins a copy that it need not make.

local field = log_name .. ':' .. digest
local replaced = redis.call('HGET', erasing, log_name) or '0'
if redis.call('HGET', erasing, field) ~= replaced then
  redis.call('UNLINK', copy)
  redis.call('HSET', erasing, field, replaced)
end
local empties = {}
for i = first_emptied, #ARGV do
  empties[ARGV[i]] = true
  empties['article:' .. ARGV[i]] = true
end
local function without(fields)
  local is_emptied = false
  for i = 1, #fields, 2 do
    local field, value = fields[i], fields[i + 1]
    if field == 'article' then is_emptied = empties[value] end
    local has_user = field == 'by' or field == 'on_behalf_of' or field == 'article' and log_name == 'moderation'
    if has_user and value == written_name then fields[i + 1] = replacement end
    if (field == 'title' or field == 'link') and is_emptied then fields[i + 1] = '' end
  end
  return fields
end

local last = redis.call('XREVRANGE', copy, '+', '-', 'COUNT', 1)[1]
local found = redis.call('XRANGE', log, last and '(' .. last[1] or '-', '+', 'COUNT', max_entries)
for _, entry in ipairs(found) do redis.call('XADD', copy, entry[1], unpack(without(entry[2]))) end
if #found == tonumber(max_entries) then
  redis.call('EXPIRE', copy, copy_ttl)
  return {'MORE'}
end
redis.call('HDEL', erasing, field)
local first = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
if not first then
  redis.call('UNLINK', copy)
  return {'OK'}
end
redis.call('XTRIM', copy, 'MINID', first[1]) -- what was dropped meanwhile
local more = redis.call('XLEN', copy) - redis.call('XLEN', log)
if more > 0 then -- entries that are no events, and are dropped again
  redis.call('HINCRBY', views, 'hidden', more)
  redis.call('HSET', views, 'looked', '0-0')
end
redis.call('RENAME', log, old_log) -- else the log would be freed here, which takes 20 ms for 300,000 entries
redis.call('UNLINK', old_log)
redis.call('RENAME', copy, log)
redis.call('PERSIST', log)
redis.call('HINCRBY', erasing, log_name, 1)
return {'OK'}
