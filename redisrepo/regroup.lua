-- regroup.lua: put one article into groups and take it out of groups.
--
-- KEYS[1]  article:ID       hash  the article
-- KEYS[2]  time:            zset  posting times, Unix seconds
-- KEYS[3]  score:           zset  the ranking, Unix seconds
-- KEYS[4]  groups:          zset  the names of all groups
-- KEYS[5]  posted:NAME      zset  what ARGV[7] posted; unused when that is unknown
-- KEYS[6]  changes:         channel  is told what changed
-- KEYS[7]  moderation:      stream  the log of what moderators did
-- KEYS[8...] three keys of each name in ARGV[5], then of each in ARGV[2] and ARGV[3]
-- ARGV[1]  the article's member
-- ARGV[2]  names of the groups to enter, blanks between
-- ARGV[3]  names of the groups to leave, blanks between
-- ARGV[4]  most groups that an article may be in
-- ARGV[5]  the article's groups as the caller knows them, sorted names, blanks between
-- ARGV[6]  the member of the user who asks
-- ARGV[7]  the poster's member as the caller knows it, or empty
-- ARGV[8]  1 when ARGV[6] is a moderator, who may regroup what others posted, else 0
-- ARGV[9]  most entries of the log, about
-- ARGV[10] now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', {field, value, ...}}  the hash as it stands now
--         {'NOT_FOUND'}                no such article, or it is deleted
--         {'FORBIDDEN'}                the article is somebody else's, and that is no moderator
--         {'TOO_MANY', number}         it would be in that many groups
--         {'STALE', groups, poster}    ARGV[5] and [7] were not these: call again with them
-- Safe to run twice: the second run finds the groups as they should be.

local article, member = KEYS[1], ARGV[1]
local hash = redis.call('HMGET', article, 'groups', 'poster', 'time', 'votes', 'downvotes', 'revision')
local time, score = redis.call('ZSCORE', KEYS[2], member), redis.call('ZSCORE', KEYS[3], member)
if not hash[3] or not time or not score then return {'NOT_FOUND'} end
local votes, downvotes = whole(hash[4] or '0'), whole(hash[5] or '0')
if not votes or not downvotes or not whole(hash[6] or '0') then
  return redis.error_reply('CORRUPT votes or revision of ' .. member)
end
local moderated = hash[2] ~= ARGV[6]
if moderated and ARGV[8] ~= '1' then return {'FORBIDDEN'} end

local add, remove, names = words(ARGV[2]), words(ARGV[3]), words(ARGV[5])
for _, list in ipairs({add, remove}) do
  for _, name in ipairs(list) do names[#names + 1] = name end
end
local groups = groups_at(8, names)
local mine = known_groups(hash[1], ARGV[5], groups, KEYS[4], member, hash[2] == ARGV[7])
if not mine then
  return {'STALE', hash[1] or table.concat(redis.call('ZRANGE', KEYS[4], 0, -1), ' '), hash[2]}
end

local is_in = {}
for _, name in ipairs(words(mine)) do is_in[name] = true end
for _, name in ipairs(add) do is_in[name] = true end
for _, name in ipairs(remove) do is_in[name] = nil end
local list = {}
for name in pairs(is_in) do list[#list + 1] = name end
if #add > 0 and #list > tonumber(ARGV[4]) then return {'TOO_MANY', #list} end
table.sort(list, by_bytes)

for _, group in pairs(groups) do touch(group, member) end
redis.call('ZCARD', KEYS[4])
if moderated then redis.call('XLEN', KEYS[7]) end
if not hash[1] then -- take over an article of the book's code
  redis.call('ZADD', KEYS[5], time, member)
end
for _, name in ipairs(add) do
  if is_in[name] then
    enter(groups[name], member, score, time)
    redis.call('ZADD', KEYS[4], 0, name)
  end
end
for _, name in ipairs(remove) do
  leave(groups[name], member)
  if redis.call('SCARD', groups[name].members) == 0 then redis.call('ZREM', KEYS[4], name) end
end
local joined = table.concat(list, ' ')
redis.call('HSET', article, 'groups', joined)
if joined ~= mine then
  if moderated then
    record(KEYS[7], ARGV[9], 'regrouped', member, ARGV[6], now_or(ARGV[10]), 'before', mine, 'after', joined)
  end
  tell(KEYS[6], 'regrouped', member, redis.call('HINCRBY', article, 'revision', 1), votes, downvotes, score, joined)
end

return {'OK', redis.call('HGETALL', article)}
