-- delete.lua: take one article out of everything that lists it. Its hash and its
-- voters stay, so that undelete.lua can bring it back.
--
-- KEYS[1]  article:ID    hash    the article
-- KEYS[2]  time:         zset    posting times, Unix seconds
-- KEYS[3]  score:        zset    the ranking, Unix seconds
-- KEYS[4]  groups:       zset    the names of all groups
-- KEYS[5]  posted:NAME   zset    what ARGV[5] posted; unused when that is unknown
-- KEYS[6]  deleted:      zset    the deleted articles by the time of that, Unix seconds
-- KEYS[7]  moderation:   stream  the log of what moderators did
-- KEYS[8]  changes:      channel  is told of it
-- KEYS[9...] three keys of the group interesting, then of each name in ARGV[4]
-- ARGV[1]  the article's member
-- ARGV[2]  the member of the user who asks
-- ARGV[3]  1 when that is a moderator, who may delete what others posted, else 0
-- ARGV[4]  the article's groups as the caller knows them, sorted names, blanks between
-- ARGV[5]  the poster's member as the caller knows it, or empty
-- ARGV[6]  most entries of the log, about
-- ARGV[7]  now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', {field, value, ...}}  the hash as it stands now, deleted by this call or before
--         {'NOT_FOUND'}                no such article, or it is deleted and that is not ARGV[2]'s to know
--         {'FORBIDDEN'}                the article is somebody else's, and that is no moderator
--         {'STALE', groups, poster}    ARGV[4] and [5] were not these: call again with them
-- Safe to run twice: the second run finds it deleted and changes nothing.

local article, member, by = KEYS[1], ARGV[1], ARGV[2]
local hash = redis.call('HMGET', article, 'groups', 'poster', 'time', 'votes', 'downvotes', 'revision', 'deleted')
local time, score = redis.call('ZSCORE', KEYS[2], member), redis.call('ZSCORE', KEYS[3], member)
local poster = hash[2] or ''
local may = ARGV[3] == '1' or poster == by
if hash[7] and may then return {'OK', redis.call('HGETALL', article)} end
if not hash[3] or not time or not score or hash[7] then return {'NOT_FOUND'} end
if not may then return {'FORBIDDEN'} end
local votes, downvotes = whole(hash[4] or '0'), whole(hash[5] or '0')
if not votes or not downvotes or not whole(hash[6] or '0') then
  return redis.error_reply('CORRUPT votes or revision of ' .. member)
end

local names = words(ARGV[4])
table.insert(names, 1, 'interesting')
local groups = groups_at(9, names)
local mine = known_groups(hash[1], ARGV[4], groups, KEYS[4], member, true)
if not mine or poster ~= ARGV[5] then
  return {'STALE', hash[1] or table.concat(redis.call('ZRANGE', KEYS[4], 0, -1), ' '), poster}
end

names = words(mine)
table.insert(names, 1, 'interesting')
for _, name in ipairs(names) do touch(groups[name], member) end
for _, key in ipairs({KEYS[4], KEYS[5], KEYS[6]}) do redis.call('ZCARD', key) end
redis.call('XLEN', KEYS[7])

local now = now_or(ARGV[7])
for _, key in ipairs({KEYS[2], KEYS[3], KEYS[5]}) do redis.call('ZREM', key, member) end
for _, name in ipairs(names) do
  leave(groups[name], member)
  if redis.call('SCARD', groups[name].members) == 0 then redis.call('ZREM', KEYS[4], name) end
end
redis.call('HSET', article, 'groups', mine, 'deleted', now, 'deleted_by', by)
redis.call('ZADD', KEYS[6], now, member)
record(KEYS[7], ARGV[6], 'deleted', member, by, now)
tell(KEYS[8], 'deleted', member, redis.call('HINCRBY', article, 'revision', 1), votes, downvotes, score, mine,
  now .. ' ' .. by)

return {'OK', redis.call('HGETALL', article)}
