-- vote.lua: set the position of a user on an article: up, down or none.
--
-- uses allowed worth
-- KEYS[1]  article:ID       hash     the article
-- KEYS[2]  voted:ID         set      the upvoters, and [3] downvoted:ID, a set, the downvoters
-- KEYS[4]  score:           zset     the ranking, Unix seconds
-- KEYS[5]  events:          stream   the log; and [8] void:ID, a hash: the votes that do not count, read only if there are some
-- KEYS[6]  group:interesting, a set, [7] time:interesting and [9] score:interesting, zsets that need not exist
-- KEYS[10...]  score:NAME, a zset of each name in ARGV[2], its listing by score, which need not exist. Then, with history,
--          cast:USER:MONTH, a zset: what the voter voted on among the articles of that month. Then, with a bucket, audit:ID,
--          a hash: each voter's last vote, its time and bucket
-- ARGV[1]  the article's member, and [2] its groups as the caller expects them: sorted names, separated by spaces
-- ARGV[3]  posting time of the article that the caller knows, as its hash has it, and [4] its title; empty: it knows none
-- ARGV[5]  position: 1 up, -1 down, 0 none; and [6] the voter's member
-- ARGV[7]  the last hour whose front page the caller believes to be saved
-- ARGV[8]  now, Unix seconds; empty or missing: the server's clock; and [9] a pseudonym of the voter's address; missing: no record
-- RULE vote_score         worth of a vote, seconds; nil: it depends on how many there are
-- RULE ranking            the ranking, as worth.lua takes it
-- RULE window             voting window, seconds
-- RULE history            how long votes are kept in cast:USER:MONTH, seconds; 0: for ever; nil: there are no such keys
-- RULE margin             how much longer than the window the voters are kept, seconds
-- RULE interesting_votes  net votes that make an article interesting
-- RULE milestones         net votes that make an event
--
-- Replies {'OK', votes, downvotes, revision, rest, before}  the numbers after the vote; 0 if ARGV[3] and [4] are those of this
--                               article, else its whole hash before the vote, {field, value, ...}; the position before, or 2 if
--                               the vote is refused, since the poster's vote does not count and cannot be changed
--         {'NOT_FOUND'}         the article does not exist or is deleted; or {'VOID', void}, the user's field of void:ID
--         {'CLOSED'}            the voting window is over, or the voters are forgotten
--         {'STALE', groups, '', '', time}  ARGV[2] differs from these groups, or MONTH from that of this posting time: call again
--         {'UNLISTED', poster, time}       the hash does not list the groups: call adopt.lua, and again
--         {'UNSAVED'}           ARGV[7] is before this hour: call savefront.lua, and again
-- Safe to run twice: the second run finds the position set and changes nothing. Other scripts check types and rights first, which
-- would be a quarter of a vote's time: this one undoes what it did when a command fails. Each local that vote uses makes it slower.

-- What undo needs: the hash and the memberships before, what was added to which rankings, ids of entries, and commands for the rest.
local before, up, down, added, ranked, entries, rarely = nil, 0, 0, 0, {}, {}, {}
local function append(kind, to, revision, votes, downvotes, score, time, now) -- see append.lua, which takes longer
  return redis.call('XADD', KEYS[5], '*', 'kind', kind, 'article', string.sub(ARGV[1], 9), 'revision', revision, 'votes', votes,
    'downvotes', downvotes, 'score', score, 'by', string.sub(ARGV[6], 6), 'to', to, 'time', time, 'groups', ARGV[2], 'at', now)
end

local function vote()
  local call, article, voted, downvoted, member, voter, position = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[6], tonumber(ARGV[5])
  local hash = call('HMGET', article, 'votes', 'downvotes', 'revision', 'cast', 'groups', 'title', 'time', 'uncounted', 'deleted', 'voided')
  local time, listed, uncounted = hash[7], hash[5], hash[8] == '1'
  if not time or hash[9] then return {'NOT_FOUND'} end
  local votes, downvotes, revision = tonumber(hash[1] or 0), tonumber(hash[2] or 0), tonumber(hash[3] or 0)
  if not (votes and downvotes and revision and tonumber(time)) or (votes + downvotes + revision) % 1 > 0 then
    return redis.error_reply('CORRUPT time, votes, downvotes or revision of ' .. member)
  end
  local now = ARGV[8] ~= '' and ARGV[8] or call('TIME')[1]
  local kept = time + window + margin - now
  if kept < margin then return {'CLOSED'} end
  local last, month = ARGV[9] and #KEYS - 1 or #KEYS, history and time ~= ARGV[3] and math.floor(math.min(time, 9e12) / 2764800)
  if listed and (listed ~= ARGV[2] or month and month ~= tonumber(KEYS[last]:match('%-?%d+$'))) then return {'STALE', listed, '', '', time} end
  -- PTTL is -2 for a set without members. The first upvote on a legacy client's article is its poster's, so it is known without
  -- the set, too. Upward: no voter has or gets a downvote.
  local upward = downvotes == 0 and position == 1
  local voted_left, downvoted_left = call('PTTL', voted), not upward and call('PTTL', downvoted)
  if voted_left == -2 and (uncounted or votes + downvotes > (listed and 0 or 1)) or downvotes > 0 and downvoted_left == -2 then
    return {'CLOSED'} -- the window was shorter once, so the voters have been forgotten
  end
  local poster = (uncounted or not listed) and call('HGET', article, 'poster')
  if not listed and not call('ZSCORE', KEYS[4], member) then return {'NOT_FOUND'} end -- or not yet there
  if not listed then return {'UNLISTED', poster or '', time} end
  if now / 3600 >= ARGV[7] + 1 then return {'UNSAVED'} end
  if hash[10] and call('HGET', KEYS[8], voter) then return {'VOID', call('HGET', KEYS[8], voter)} end
  local rest = (time ~= ARGV[3] or hash[6] ~= ARGV[4]) and call('HGETALL', article) or 0
  up = upward and voter ~= poster and 1 - call('SADD', voted, voter) or call('SISMEMBER', voted, voter)
  if downvotes > 0 or position == -1 then down = call('SISMEMBER', downvoted, voter) end
  local old = up - down
  if position == old and up + down < 2 then return {'OK', votes, downvotes, revision, rest, old} end -- 2: a legacy client upvoted over a downvote
  if position ~= old and voter == poster then return {'OK', votes, downvotes, revision, rest, 2} end
  before, hash.kept = hash, kept
  if not upward then
    must_be_allowed('SADD', voted, 'SREM', voted, 'SADD', downvoted, 'SREM', downvoted)
    if (up == 1) ~= (position == 1) then call(up == 1 and 'SREM' or 'SADD', voted, voter) end
    if (down == 1) ~= (position == -1) then call(down == 1 and 'SREM' or 'SADD', downvoted, voter) end
  end
  local change, after = position - old, votes + position - old
  added = string.format('%d', vote_score and change * vote_score or worth(ranking, after) - worth(ranking, votes))
  local score = call('ZADD', KEYS[4], 'XX', 'INCR', added, member)
  if score then ranked[1] = KEYS[4] else error('CORRUPT score of ' .. member, 0) end
  local is = after >= interesting_votes -- is and was: interesting
  local was = (is or votes >= interesting_votes) and call('SISMEMBER', KEYS[6], member) == 1
  for i = was and is and 9 or 10, history and last - 1 or last do
    call('ZADD', KEYS[i], 'XX', 'INCR', added, member)
    ranked[#ranked + 1] = KEYS[i]
  end
  local votes_text, revision_text = string.format('%d', after), string.format('%d', revision + 1)
  local downvotes_text = upward and '0' or string.format('%d', downvotes - down + (position == -1 and 1 or 0))
  local cast = hash[4] and (hash[4] == hash[1] and votes_text or string.format('%d', hash[4] + change))
  call('HSET', article, 'votes', votes_text, 'downvotes', downvotes_text, 'revision', revision_text, cast and 'cast' or 'votes', cast or votes_text)
  local low, high = 1000 * kept - 60000, 1000 * kept + 61000
  if voted_left < low or voted_left > high then call('EXPIRE', voted, math.ceil(kept)) end
  if downvoted_left and (downvoted_left < low or downvoted_left > high) then call('EXPIRE', downvoted, math.ceil(kept)) end
  if ARGV[9] then
    local audit, record = KEYS[#KEYS], call('HGET', KEYS[#KEYS], voter)
    rarely[#rarely + 1] = record and {'HSET', audit, voter, record} or {'HDEL', audit, voter}
    call('HSET', audit, voter, string.format('%d %.0f %s', position, tonumber(now), ARGV[9]))
    call('EXPIRE', audit, math.ceil(kept))
  end
  entries[1] = append('voted', ARGV[5], revision_text, votes_text, downvotes_text, score, time, now)
  for i = 1, #milestones do
    local reached = after >= milestones[i] and votes < milestones[i] and (call('HGET', article, 'milestone') or 0)
    if reached and tonumber(reached) < milestones[i] then
      rarely[#rarely + 1] = reached ~= 0 and {'HSET', article, 'milestone', reached} or {'HDEL', article, 'milestone'}
      call('HSET', article, 'milestone', milestones[i])
      entries[#entries + 1] = append('milestone', milestones[i], revision_text, votes_text, downvotes_text, score, time, now)
    end
  end
  local list, plus = KEYS[last], string.sub(member, 9)
  local size, vote = history and call('ZCARD', list), position == 1 and plus or '-' .. plus
  if size and up + down > 0 then must_be_allowed('ZREM', list) end
  if size and position ~= 0 then
    local at = up + down == 2 and call('ZSCORE', list, vote)
    rarely[#rarely + 1] = at and {'ZADD', list, at, vote} or {'ZREM', list, vote}
    call('ZADD', list, now, vote)
    if size == 0 and history > 0 then call('EXPIRE', list, math.ceil(kept - margin + history + 2764800 - time % 2764800)) end -- cast_expiry
    if size >= 10000 then -- 0 says that older votes are missing, also if the vote is undone
      call('ZREMRANGEBYRANK', list, 0, 99)
      call('ZADD', list, now, '0')
    end
  end
  if was ~= is then
    local has_time, has_score = call('ZCARD', KEYS[7]) > 0, call('ZCARD', KEYS[9]) > 0
    must_be_allowed('ZADD', KEYS[7], 'ZREM', KEYS[7], 'ZADD', KEYS[9], 'ZREM', KEYS[9])
    call(is and 'SADD' or 'SREM', KEYS[6], member)
    rarely[#rarely + 1] = {was and 'SADD' or 'SREM', KEYS[6], member}
    if has_time and is then call('ZADD', KEYS[7], time, member) elseif has_time then call('ZREM', KEYS[7], member) end
    if has_score and is then call('ZADD', KEYS[9], score, member) elseif has_score then call('ZREM', KEYS[9], member) end
  end
  if size and up + down > 0 then call('ZREM', list, position == 1 and '-' .. plus or plus, position == -1 and plus or '-' .. plus) end -- last
  return {'OK', after, tonumber(downvotes_text), revision + 1, rest, old}
end
local ok, reply = pcall(vote)
if ok then return reply end
local function undo(...) redis.pcall(...) end -- of a command that was not run, it changes nothing or fails, too
for i = 1, #entries do undo('XDEL', KEYS[5], entries[i]) end
for i = #rarely, 1, -1 do undo(unpack(rarely[i])) end
for i = 1, #ranked do undo('ZADD', ranked[i], 'XX', 'INCR', -added, ARGV[1]) end
if before then
  for i, was_in in pairs({[2] = up, [3] = down}) do
    undo(was_in == 1 and 'SADD' or 'SREM', KEYS[i], ARGV[6])
    if redis.call('PTTL', KEYS[i]) == -1 then undo('EXPIRE', KEYS[i], math.ceil(before.kept)) end -- it was empty meanwhile
  end
  for i, field in ipairs({'votes', 'downvotes', 'revision', 'cast'}) do undo(before[i] and 'HSET' or 'HDEL', KEYS[1], field, before[i] or field) end
end
return type(reply) == 'string' and {err = reply} or reply
