-- shared.lua: what the writing scripts have in common; it stands in front of each.
--
-- KEYS    the last ones are group:NAME, score:NAME and time:NAME for every
--         name of the list that the script is given; the two listings need not exist
-- ARGV    none
-- Replies none
-- Safe to run twice: it only defines functions.

local function words(text)
  local list = {}
  for word in string.gmatch(text, '[^ ]+') do list[#list + 1] = word end
  return list
end

-- by_bytes sorts names as Go does: < would ask the locale of the server.
local function by_bytes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- groups_at maps each of names to its three keys, which start at KEYS[first].
local function groups_at(first, names)
  local groups = {}
  for i, name in ipairs(names) do
    local k = first + 3 * (i - 1)
    groups[name] = {members = KEYS[k], by_score = KEYS[k + 1], by_time = KEYS[k + 2]}
  end
  return groups
end

-- now_or is the test clock's second, or the server's.
local function now_or(clock)
  return clock ~= '' and clock or redis.call('TIME')[1]
end

local function whole(text)
  return text and string.match(text, '^%-?%d+$') and tonumber(text)
end

-- tell publishes that an article changed, as the text
--
--   kind member revision votes downvotes score group group ...
--
-- and a second line: when somebody voted, the position and the voter; when it
-- was deleted, the time, Unix seconds, and who did it. The revision counts the changes of one article, so whoever has two states of it
-- knows the later. Shards of a cluster have their own kind of channel.
local function tell(channel, kind, member, revision, votes, downvotes, score, groups, more)
  local command = string.sub(channel, 1, 1) == '{' and 'SPUBLISH' or 'PUBLISH'
  redis.call(command, channel, string.format('%s %s %.0f %.0f %.0f %s %s%s',
    kind, member, revision, votes, downvotes, score, groups, more and '\n' .. more or ''))
end

-- record appends to the moderation log, which then drops its oldest entries
-- beyond about most. What follows are the names and values of further fields.
local function record(log, most, kind, member, by, at, ...)
  redis.call('XADD', log, 'MAXLEN', '~', most, '*', 'kind', kind, 'article', member, 'by', by, 'at', at, ...)
end

-- touch reads every key of a group, so that one of a wrong type ends the script
-- before its first write, and tells which of the listings exist.
local function touch(group, member)
  redis.call('SISMEMBER', group.members, member)
  group.has_score = redis.call('ZCARD', group.by_score) > 0
  group.has_time = redis.call('ZCARD', group.by_time) > 0
end

-- enter and leave keep a touched group and its existing listings in step.
-- Scores are the texts that Redis gave, so none is rounded on its way.
local function enter(group, member, score, time)
  redis.call('SADD', group.members, member)
  if group.has_score then redis.call('ZADD', group.by_score, score, member) end
  if group.has_time then redis.call('ZADD', group.by_time, time, member) end
end

local function leave(group, member)
  redis.call('SREM', group.members, member)
  redis.call('ZREM', group.by_score, member)
  redis.call('ZREM', group.by_time, member)
end

-- known_groups tells what groups the article is in, as a text of sorted names,
-- or nil when the caller has to look again: its list is not the hash's.
--
-- A hash of the book's code has no list. Then the caller must offer all the
-- groups there are, so that the sets themselves can answer, and the poster, so
-- that the article can be entered among what the poster posted.
local function known_groups(hash_groups, seen, groups, index, member, poster_known)
  if hash_groups then return hash_groups == seen and seen or nil end
  if not poster_known or table.concat(redis.call('ZRANGE', index, 0, -1), ' ') ~= seen then return nil end
  local found = {}
  for _, name in ipairs(words(seen)) do
    if redis.call('SISMEMBER', groups[name].members, member) == 1 then found[#found + 1] = name end
  end
  return table.concat(found, ' ')
end
