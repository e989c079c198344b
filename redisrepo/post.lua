-- post.lua: store a new article, in the rankings and in its groups. Used for
-- posting, with the poster's own vote, and for importing, with many votes.
--
-- KEYS[1]   article:ID       hash    the article, new
-- KEYS[2]   voted:ID         set     who voted up
-- KEYS[3]   downvoted:ID     set     who voted down
-- KEYS[4]   time:            zset    posting times, Unix seconds
-- KEYS[5]   score:           zset    the ranking, Unix seconds
-- KEYS[6]   groups:          zset    the names of all groups
-- KEYS[7]   posted:NAME      zset    what the poster posted
-- KEYS[8]   article:         string  the last number given out
-- KEYS[9]   post:USER:KEY    string  the record of the idempotency key; unused without one
-- KEYS[10]  changes:         channel  is told of the article
-- KEYS[11]  link:DIGEST     string  the first article of this link; unused when ARGV[19] is 0
-- KEYS[12...] three keys of the group interesting, then of each name in ARGV[14]
-- ARGV[1]   the article's member
-- ARGV[2]   its number among those that KEYS[8] gives out
-- ARGV[3]   the poster's member
-- ARGV[4]   title
-- ARGV[5]   link, or empty
-- ARGV[6]   text, or empty
-- ARGV[7]   posting time, Unix seconds; empty: now
-- ARGV[8]   net votes, besides an uncounted vote of the poster
-- ARGV[9]   1 when the poster's own vote is among the counted ones, else 0
-- ARGV[10]  worth of one vote, seconds
-- ARGV[11]  voting window, seconds
-- ARGV[12]  how much longer the voters are kept, seconds
-- ARGV[13]  net votes that make an article interesting
-- ARGV[14]  its groups: sorted names, blanks between
-- ARGV[15]  now, Unix seconds; empty: the server's clock
-- ARGV[16]  digest of what is posted; empty without an idempotency key
-- ARGV[17]  how long the record is kept, seconds
-- ARGV[18]  as what KEYS[10] is told of it: posted, or imported, which is no news
-- ARGV[19]  how long its link is reserved for it, seconds; 0: not at all
--
-- Replies {'CREATED', {field, value, ...}}  the hash of the new article
--         {'TAKEN', {field, value, ...}}    the number belongs to this article; nothing was written
--         {'REPEATED', member}              the key was used before, for the same
--         {'CONFLICT'}                      the key was used before, for something else
--         {'DUPLICATE', member}             the link is reserved for this article; nothing was written
-- Safe to run twice: the second run replies TAKEN or REPEATED and changes nothing.

local article, member, poster = KEYS[1], ARGV[1], ARGV[3]
local votes, counted, vote_score = tonumber(ARGV[8]), ARGV[9] == '1', tonumber(ARGV[10])
local window, margin, reserved = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[19])

if ARGV[16] ~= '' then
  local record = redis.call('GET', KEYS[9])
  if record then
    local first, digest = string.match(record, '^(%S+) (%S+)$')
    if digest ~= ARGV[16] then return {'CONFLICT'} end
    return {'REPEATED', first}
  end
end
if redis.call('EXISTS', article) == 1 then return {'TAKEN', redis.call('HGETALL', article)} end
local now = now_or(ARGV[15])
if reserved > 0 then
  local first, since = string.match(redis.call('GET', KEYS[11]) or '', '^(%S+) (%S+)$')
  if first and tonumber(now) < tonumber(since) + reserved then return {'DUPLICATE', first} end
end

local names = words(ARGV[14])
local groups = groups_at(12, {'interesting', unpack(names)})
for _, group in pairs(groups) do touch(group, member) end
for _, key in ipairs({KEYS[4], KEYS[5], KEYS[6], KEYS[7]}) do redis.call('ZCARD', key) end
local last = whole(redis.call('GET', KEYS[8]) or '0')
if not last then return redis.error_reply('CORRUPT counter of articles') end

local time = ARGV[7] ~= '' and ARGV[7] or now

redis.call('DEL', KEYS[2], KEYS[3])
redis.call('HSET', article, 'title', ARGV[4], 'link', ARGV[5], 'poster', poster, 'time', time,
  'votes', votes, 'downvotes', math.max(0, -votes), 'groups', ARGV[14], 'revision', 1)
if ARGV[6] ~= '' then redis.call('HSET', article, 'text', ARGV[6]) end
if not counted then redis.call('HSET', article, 'uncounted', '1') end

-- The voters, while they can matter. Those of an import have no names, and a
-- member that no user can have.
local left = math.ceil(tonumber(time) + window + margin - tonumber(now))
if left >= margin then
  local set, nameless = votes < 0 and KEYS[3] or KEYS[2], math.abs(votes)
  if not counted then
    redis.call('SADD', KEYS[2], poster)
  elseif votes > 0 then
    redis.call('SADD', KEYS[2], poster)
    nameless = votes - 1
  end
  local batch = {}
  for i = 1, nameless do
    batch[#batch + 1] = string.format('import:%d', i)
    if #batch == 1000 or i == nameless then
      redis.call('SADD', set, unpack(batch))
      batch = {}
    end
  end
  redis.call('EXPIRE', KEYS[2], left)
  redis.call('EXPIRE', KEYS[3], left)
end

redis.call('ZADD', KEYS[4], time, member)
redis.call('ZADD', KEYS[5], tonumber(time) + vote_score * votes, member)
redis.call('ZADD', KEYS[7], time, member)
local score = redis.call('ZSCORE', KEYS[5], member)
for _, name in ipairs(names) do
  enter(groups[name], member, score, time)
  redis.call('ZADD', KEYS[6], 0, name)
end
if votes >= tonumber(ARGV[13]) then enter(groups.interesting, member, score, time) end
if last < tonumber(ARGV[2]) then redis.call('SET', KEYS[8], ARGV[2]) end
if ARGV[16] ~= '' then redis.call('SET', KEYS[9], member .. ' ' .. ARGV[16], 'EX', ARGV[17]) end
if reserved > 0 then redis.call('SET', KEYS[11], member .. ' ' .. time, 'EX', reserved) end
tell(KEYS[10], ARGV[18], member, 1, votes, math.max(0, -votes), score, ARGV[14])

return {'CREATED', redis.call('HGETALL', article)}
