-- undelete.lua: bring a deleted article back to where delete.lua took it from,
-- with the rank that its votes give it.
--
-- KEYS[1]  article:ID    hash    the article
-- KEYS[2]  time:         zset    posting times, Unix seconds
-- KEYS[3]  score:        zset    the ranking, Unix seconds
-- KEYS[4]  groups:       zset    the names of all groups
-- KEYS[5]  posted:NAME   zset    what ARGV[4] posted; unused when that is unknown
-- KEYS[6]  deleted:      zset    the deleted articles by the time of that, Unix seconds
-- KEYS[7]  moderation:   stream  the log of what moderators did
-- KEYS[8]  changes:      channel  is told of it
-- KEYS[9...] three keys of the group interesting, then of each name in ARGV[3]
-- ARGV[1]  the article's member
-- ARGV[2]  the member of the moderator who asks
-- ARGV[3]  the article's groups as the caller knows them, sorted names, blanks between
-- ARGV[4]  the poster's member as the caller knows it, or empty
-- ARGV[5]  worth of one vote, seconds
-- ARGV[6]  net votes that make an article interesting
-- ARGV[7]  most entries of the log, about
-- ARGV[8]  now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', {field, value, ...}}  the hash as it stands now, not deleted
--         {'NOT_FOUND'}                no such article
--         {'STALE', groups, poster}    ARGV[3] and [4] were not these: call again with them
-- Safe to run twice: the second run finds it there and changes nothing.

local article, member = KEYS[1], ARGV[1]
local hash = redis.call('HMGET', article, 'groups', 'poster', 'time', 'votes', 'downvotes', 'revision', 'deleted')
local listed = redis.call('ZSCORE', KEYS[2], member)
if not hash[3] or not hash[7] and not listed then return {'NOT_FOUND'} end
if not hash[7] then return {'OK', redis.call('HGETALL', article)} end
local time, mine, poster = hash[3], hash[1] or '', hash[2] or ''
local votes, downvotes = whole(hash[4] or '0'), whole(hash[5] or '0')
if not tonumber(time) or not votes or not downvotes or not whole(hash[6] or '0') then
  return redis.error_reply('CORRUPT time, votes or revision of ' .. member)
end
if mine ~= ARGV[3] or poster ~= ARGV[4] then return {'STALE', mine, poster} end

local names = words(mine)
local groups = groups_at(9, {'interesting', unpack(names)})
for _, group in pairs(groups) do touch(group, member) end
for _, key in ipairs({KEYS[3], KEYS[4], KEYS[5], KEYS[6]}) do redis.call('ZCARD', key) end
redis.call('XLEN', KEYS[7])

redis.call('ZADD', KEYS[2], time, member)
redis.call('ZADD', KEYS[3], tonumber(time) + tonumber(ARGV[5]) * votes, member)
redis.call('ZADD', KEYS[5], time, member)
local score = redis.call('ZSCORE', KEYS[3], member)
for _, name in ipairs(names) do
  enter(groups[name], member, score, time)
  redis.call('ZADD', KEYS[4], 0, name)
end
if votes >= tonumber(ARGV[6]) then enter(groups.interesting, member, score, time) end
redis.call('HDEL', article, 'deleted', 'deleted_by')
redis.call('ZREM', KEYS[6], member)
record(KEYS[7], ARGV[7], 'undeleted', member, ARGV[2], now_or(ARGV[8]))
tell(KEYS[8], 'undeleted', member, redis.call('HINCRBY', article, 'revision', 1), votes, downvotes, score, mine)

return {'OK', redis.call('HGETALL', article)}
