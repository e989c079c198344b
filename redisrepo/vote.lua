-- vote.lua: set one user's position on one article: up, down or none.
--
-- KEYS[1]   article:ID       hash  the article
-- KEYS[2]   voted:ID         set   who voted up
-- KEYS[3]   downvoted:ID     set   who voted down
-- KEYS[4]   time:            zset  posting times, Unix seconds
-- KEYS[5]   score:           zset  the ranking, Unix seconds
-- KEYS[6]   groups:          zset  the names of all groups
-- KEYS[7]   posted:NAME      zset  what ARGV[10] posted; unused when that is unknown
-- KEYS[8]   changes:         channel  is told what changed
-- KEYS[9]   audit:ID         hash  how everybody voted last, and from where; unused without ARGV[11]
-- KEYS[10...] three keys of the group interesting, then of each name in ARGV[9]
-- ARGV[1]   the article's member
-- ARGV[2]   the voter's member
-- ARGV[3]   the position: 1 up, -1 down, 0 none
-- ARGV[4]   worth of one vote, seconds
-- ARGV[5]   voting window, seconds
-- ARGV[6]   how much longer the voters are kept, seconds
-- ARGV[7]   net votes that make an article interesting
-- ARGV[8]   now, Unix seconds; empty: the server's clock
-- ARGV[9]   the article's groups as the caller knows them, sorted names, blanks between
-- ARGV[10]  the poster's member as the caller knows it, or empty
-- ARGV[11]  what the voter's address is known by; empty: it is not recorded
--
-- Replies {'OK', position before, {field, value, ...}}  the hash as it stands now
--         {'NOT_FOUND'}               no such article, or it is deleted
--         {'CLOSED', posting time}    the voting window is over, or the voters are forgotten
--         {'FIXED'}                   the poster's vote is recorded for good
--         {'STALE', groups, poster}   ARGV[9] and [10] were not these: call again with them
-- Safe to run twice: the second run finds the position set and changes nothing.

local article, voted, downvoted = KEYS[1], KEYS[2], KEYS[3]
local member, voter, position = ARGV[1], ARGV[2], tonumber(ARGV[3])
local vote_score, window, margin = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local time = redis.call('ZSCORE', KEYS[4], member)
local hash = redis.call('HMGET', article, 'votes', 'downvotes', 'groups', 'poster', 'uncounted', 'time', 'revision')
if not time or not hash[6] then return {'NOT_FOUND'} end
local votes, downvotes, poster, ours = whole(hash[1] or '0'), whole(hash[2] or '0'), hash[4] or '', hash[3]
if not votes or not downvotes or not whole(hash[7] or '0') or not redis.call('ZSCORE', KEYS[5], member) then
  return redis.error_reply('CORRUPT votes, revision or score of ' .. member)
end

local now = tonumber(now_or(ARGV[8]))
if now > tonumber(time) + window then return {'CLOSED', time} end

local names = words(ARGV[9])
table.insert(names, 1, 'interesting')
local groups = groups_at(10, names)
local mine = known_groups(ours, ARGV[9], groups, KEYS[6], member, poster == ARGV[10])
if not mine then
  return {'STALE', ours or table.concat(redis.call('ZRANGE', KEYS[6], 0, -1), ' '), poster}
end

local up = redis.call('SISMEMBER', voted, voter)
local down = redis.call('SISMEMBER', downvoted, voter)
local uncounted = hash[5] == '1'
local ups = votes + downvotes
local nameless = ours and 0 or 1 -- the first vote on an article of the book's code is its poster's
local has_ups, has_downs = redis.call('EXISTS', voted) == 1, redis.call('EXISTS', downvoted) == 1
if (ups > nameless or uncounted) and not has_ups or downvotes > 0 and not has_downs then
  return {'CLOSED', time} -- the window was shorter once: who voted is not known any more
end

local before = up - down
if uncounted and voter == poster and position ~= before then return {'FIXED'} end

names = words(mine)
table.insert(names, 1, 'interesting')
for _, name in ipairs(names) do touch(groups[name], member) end
if ARGV[11] ~= '' then redis.call('HLEN', KEYS[9]) end

if not ours then -- take over an article of the book's code
  redis.call('ZCARD', KEYS[7])
  redis.call('HSET', article, 'groups', mine, 'downvotes', downvotes)
  redis.call('ZADD', KEYS[7], time, member)
  if not has_ups and ups > 0 then -- the book counts the poster's vote as the first
    redis.call('SADD', voted, poster)
    redis.call('EXPIRE', voted, math.ceil(tonumber(time) + window + margin - now))
  end
end

if position ~= before or up + down == 2 then -- in both sets: the book's code voted over a vote down
  if up == 1 then redis.call('SREM', voted, voter) end
  if down == 1 then redis.call('SREM', downvoted, voter) end
  local set = position == 1 and voted or position == -1 and downvoted
  if set then
    redis.call('SADD', set, voter)
    redis.call('EXPIRE', set, math.ceil(tonumber(time) + window + margin - now))
  end
  if ARGV[11] ~= '' then
    redis.call('HSET', KEYS[9], voter, string.format('%d %.0f %s', position, now, ARGV[11]))
    redis.call('EXPIRE', KEYS[9], math.ceil(tonumber(time) + window + margin - now))
  end
  local step = position - before
  votes = redis.call('HINCRBY', article, 'votes', step)
  if (position == -1) ~= (down == 1) then
    downvotes = redis.call('HINCRBY', article, 'downvotes', position == -1 and 1 or -1)
  end
  local score = redis.call('ZINCRBY', KEYS[5], step * vote_score, member)
  for _, name in ipairs(names) do
    if groups[name].has_score then
      redis.call('ZADD', groups[name].by_score, 'XX', 'INCR', step * vote_score, member)
    end
  end
  if votes >= tonumber(ARGV[7]) then
    enter(groups.interesting, member, score, time)
  else
    leave(groups.interesting, member)
  end
  tell(KEYS[8], 'voted', member, redis.call('HINCRBY', article, 'revision', 1), votes, downvotes, score, mine,
    ARGV[3] .. ' ' .. voter)
end

return {'OK', before, redis.call('HGETALL', article)}
