-- vote.lua: set the position of a user on an article: up, down or none.
--
-- uses worth
-- KEYS[1]  article:ID       hash     the article
-- KEYS[2]  voted:ID         set      the upvoters, and [3] downvoted:ID, a set, the downvoters
-- KEYS[4]  score:           zset     the ranking, Unix seconds
-- KEYS[5]  events:          stream   the log; and [8] void:ID, a hash: the votes that do not count, read only if there are some
-- KEYS[6]  group:interesting, a set, [7] time:interesting and [9] score:interesting, zsets that need not exist
-- KEYS[10...]  score:NAME, a zset of each name in ARGV[2], its listing by score, which need not exist. Then, with a bucket,
--          audit:ID, a hash: each voter's last vote, its time and bucket
-- ARGV[1]  the article's member, and [2] its groups as the caller expects them: sorted names, separated by spaces
-- ARGV[3]  posting time of the article that the caller knows, as its hash has it, and [4] its title; empty: it knows none
-- ARGV[5]  position: 1 up, -1 down, 0 none; and [6] the voter's member
-- ARGV[7]  the last hour whose front page the caller believes to be saved
-- ARGV[8]  now, Unix seconds; empty or missing: the server's clock; and [9] a pseudonym of the voter's address; missing: no record
-- RULE vote_score         worth of a vote, seconds; nil: it depends on how many there are
-- RULE ranking            the ranking, as worth.lua takes it
-- RULE window             voting window, seconds
-- RULE margin             how much longer than the window the voters are kept, seconds
-- RULE interesting_votes  net votes that make an article interesting
-- RULE milestones         net votes that make an event
--
-- Replies {'OK', votes, downvotes, revision, rest, before}  the numbers after the vote; 0 if ARGV[3] and [4] are those of this
--                               article, else its whole hash before the vote, {field, value, ...}; the position before, or 2 if
--                               the vote is refused, since the poster's vote does not count and cannot be changed
--         {'NOT_FOUND'}         the article does not exist or is deleted; or {'VOID', void}, the user's field of void:ID
--         {'CLOSED'}            the voting window is over, or the voters are forgotten
--         {'STALE', groups}     ARGV[2] differs from these groups: call again
--         {'UNSAVED'}           ARGV[7] is before this hour: call savefront.lua, and again
-- Safe to run twice: the second run finds the position set and changes nothing.
-- The types of all keys that it changes are known before the first write: it reads them, or asks for their sizes. The first write is
-- that of score:, so this one need not be read.

local call = redis.call
local article = KEYS[1]
local voted = KEYS[2]
local downvoted = KEYS[3]
local scores = KEYS[4]
local events = KEYS[5]
local interesting = KEYS[6]
local interesting_by_time = KEYS[7]
local void = KEYS[8]
local interesting_by_score = KEYS[9]
local member = ARGV[1]
local known_time = ARGV[3]
local position = tonumber(ARGV[5])
local voter = ARGV[6]
local bucket = ARGV[9]
local last_listing = bucket and #KEYS - 1 or #KEYS
local audit = bucket and KEYS[#KEYS]

local hash = call('HMGET', article, 'votes', 'downvotes', 'revision', 'cast', 'groups', 'title', 'time', 'uncounted', 'deleted', 'voided')
local time = hash[7]
local groups = hash[5]
local uncounted = hash[8] == '1'
if not time or not groups or hash[9] then return {'NOT_FOUND'} end
local votes = tonumber(hash[1] or 0)
local downvotes = tonumber(hash[2] or 0)
local revision = tonumber(hash[3] or 0)
if not (votes and downvotes and revision and tonumber(time)) or (votes + downvotes + revision) % 1 > 0 then
  return redis.error_reply('CORRUPT time, votes, downvotes or revision of ' .. member)
end
local now = ARGV[8] ~= '' and ARGV[8] or call('TIME')[1]
local kept = time + window + margin - now
if kept < margin then return {'CLOSED'} end
if groups ~= ARGV[2] then return {'STALE', groups} end

-- PTTL is -2 for a set without members.
local may_be_down = downvotes > 0 or position == -1
local voted_left = call('PTTL', voted)
local downvoted_left = may_be_down and call('PTTL', downvoted)
if voted_left == -2 and (uncounted or votes + downvotes > 0) or downvotes > 0 and downvoted_left == -2 then
  return {'CLOSED'} -- the window was shorter once, so the voters have been forgotten
end
local poster = uncounted and call('HGET', article, 'poster')
if now / 3600 >= ARGV[7] + 1 then return {'UNSAVED'} end
local is_void = hash[10] and call('HGET', void, voter)
if is_void then return {'VOID', is_void} end

local rest = (time ~= known_time or hash[6] ~= ARGV[4]) and call('HGETALL', article) or 0
local up = call('SISMEMBER', voted, voter)
local down = may_be_down and call('SISMEMBER', downvoted, voter) or 0
local old = up - down
if position == old then return {'OK', votes, downvotes, revision, rest, old} end
if voter == poster then return {'OK', votes, downvotes, revision, rest, 2} end

local change = position - old
local after = votes + change
local is_interesting = after >= interesting_votes
local was_interesting = (is_interesting or votes >= interesting_votes) and call('SISMEMBER', interesting, member) == 1
local has_time = was_interesting ~= is_interesting and call('ZCARD', interesting_by_time) > 0
local has_score = (was_interesting or is_interesting) and call('ZCARD', interesting_by_score) > 0
local listings = {}
for i = 10, last_listing do
  if call('ZCARD', KEYS[i]) > 0 then listings[#listings + 1] = KEYS[i] end
end
if audit then call('HLEN', audit) end
call('XLEN', events)

local added = string.format('%d', vote_score and change * vote_score or worth(ranking, after) - worth(ranking, votes))
local score = call('ZADD', scores, 'XX', 'INCR', added, member)
if not score then return redis.error_reply('CORRUPT score of ' .. member) end
for _, listing in ipairs(listings) do call('ZADD', listing, 'XX', 'INCR', added, member) end

if (up == 1) ~= (position == 1) then call(up == 1 and 'SREM' or 'SADD', voted, voter) end
if (down == 1) ~= (position == -1) then call(down == 1 and 'SREM' or 'SADD', downvoted, voter) end
local votes_text = string.format('%d', after)
local downvotes_text = string.format('%d', downvotes - down + (position == -1 and 1 or 0))
local revision_text = string.format('%d', revision + 1)
local cast_text = hash[4] and (hash[4] == hash[1] and votes_text or string.format('%d', hash[4] + change))
call('HSET', article, 'votes', votes_text, 'downvotes', downvotes_text, 'revision', revision_text,
  cast_text and 'cast' or 'votes', cast_text or votes_text)
local low = 1000 * kept - 60000
local high = 1000 * kept + 61000
if voted_left < low or voted_left > high then call('EXPIRE', voted, math.ceil(kept)) end
if downvoted_left and (downvoted_left < low or downvoted_left > high) then call('EXPIRE', downvoted, math.ceil(kept)) end

if audit then
  call('HSET', audit, voter, string.format('%d %.0f %s', position, tonumber(now), bucket))
  call('EXPIRE', audit, math.ceil(kept))
end

local function append(kind, to) -- see append.lua, which takes longer
  call('XADD', events, '*', 'kind', kind, 'article', string.sub(member, 9), 'revision', revision_text, 'votes', votes_text,
    'downvotes', downvotes_text, 'score', score, 'by', string.sub(voter, 6), 'to', to, 'time', time, 'groups', groups, 'at', now)
end
append('voted', ARGV[5])
for _, milestone in ipairs(milestones) do
  local is_reached = after >= milestone and votes < milestone
  if is_reached and tonumber(call('HGET', article, 'milestone') or 0) < milestone then
    call('HSET', article, 'milestone', milestone)
    append('milestone', milestone)
  end
end

if was_interesting ~= is_interesting then
  call(is_interesting and 'SADD' or 'SREM', interesting, member)
  if has_time and is_interesting then
    call('ZADD', interesting_by_time, time, member)
  elseif has_time then
    call('ZREM', interesting_by_time, member)
  end
end
if has_score and is_interesting then
  call('ZADD', interesting_by_score, score, member)
elseif has_score then
  call('ZREM', interesting_by_score, member)
end
return {'OK', after, tonumber(downvotes_text), revision + 1, rest, old}
