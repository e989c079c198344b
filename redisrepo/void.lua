-- void.lua: take the votes of some users on an article out of all counts, as if they had never been cast, or put them back.
--
-- uses names now whole types allowed append moderation groups leave worth keep_front cast_expiry
-- KEY article            article:ID    hash    the article
-- KEY voted              voted:ID      set     the upvoters
-- KEY downvoted          downvoted:ID  set     the downvoters
-- KEY void               void:ID       hash    the votes that do not count: see keys.Kinds
-- KEY scores             score:        zset    the ranking, Unix seconds
-- KEY clock              clock:        hash    the last hour with a front page
-- KEY pages              front:        zset    the front pages of past hours
-- KEY log                moderation:   stream  the moderation log
-- KEY events             events:       stream  the log
-- KEYS cast              with history cast:USER:MONTH of each user, zsets: what the user voted on among the articles of that
--                        month; then three keys of the group interesting, and of each name in expected_groups
-- ARG member             the article's member
-- ARG takes_out          1 to take votes out, 0 to put them back
-- ARG by                 the moderator's member
-- ARG via                the member of the service that acts for by, or empty
-- ARG reason             the reason in words
-- ARG ground             its ground; empty: no reason is given
-- ARG expected_groups    the article's groups as the caller expects them: sorted names, separated by spaces
-- ARG ranking            the ranking, as worth.lua takes it
-- ARG window             voting window, seconds
-- ARG margin             how much longer than the window the voters are kept, seconds
-- ARG history            how long votes are kept in cast:USER:MONTH, seconds; 0: for ever; empty: there are no such keys
-- ARG interesting_votes  net votes that make an article interesting
-- ARG milestones         net votes that make an event, separated by spaces
-- ARG max_entries        approximate maximum number of entries in the moderation log
-- ARG features           the features that are on, separated by spaces
-- ARG now                now, Unix seconds; empty: the server's clock
-- ARGS voter             the users' members, each once
--
-- The votes stay in cast:USER:MONTH, so that their voters see them. While the voters are known, their sets say who has a vote,
-- and after that cast:USER:MONTH. A poster's vote that does not count anyway stays.
--
-- Replies {'OK', void, {field, value, ...}}  how many of these users have a vote that does not count, and the article's hash
--         {'NOT_FOUND'}                      the article does not exist or is deleted
--         {'STALE', groups, '', '', time}    expected_groups differs from these, or MONTH from that of this posting time: call again
--         {'UNLISTED', poster, time}         the hash does not list the groups: call adopt.lua, and again
-- Safe to run twice: the second run finds the votes out, or back, and changes nothing.

local hash = redis.call('HMGET', article, 'time', 'groups', 'poster', 'votes', 'downvotes', 'revision', 'cast', 'uncounted',
  'deleted', 'title', 'link', 'milestone')
local time, number, poster = hash[1], string.sub(member, 9), hash[3] or ''
if not time or hash[9] or not redis.call('ZSCORE', scores, member) then return {'NOT_FOUND'} end
if not hash[2] then return {'UNLISTED', poster, time} end
local cast_count = history ~= '' and #ARGV - first_voter + 1 or 0
if hash[2] ~= expected_groups or cast_count > 0 and not is_of_month(KEYS[first_cast], time) then
  return {'STALE', hash[2], '', '', time}
end
local votes, downvotes, revision = whole(hash[4] or '0'), whole(hash[5] or '0'), whole(hash[6] or '0')
if not tonumber(time) or not votes or not downvotes or not revision then
  return redis.error_reply('CORRUPT time, votes, downvotes or revision of ' .. member)
end
now, history, takes_out = now_or(now), tonumber(history), takes_out == '1'

-- A set without members does not exist. Without the set of some votes, the voters are forgotten.
local kept, uncounted = tonumber(time) + window + margin - now, hash[8] == '1'
local ups, downs = redis.call('SCARD', voted), redis.call('SCARD', downvoted)
local forgotten = ups == 0 and votes + downvotes + (uncounted and 1 or 0) > 0 or downs == 0 and downvotes > 0
  or ups + downs == 0 and kept <= 0

-- changes has of each vote to move whether it is up, down, or both.
local changes, size, count, after, downvotes_after = {}, redis.call('HLEN', void), 0, votes, downvotes
for i = first_voter, #ARGV do
  local voter, cast = ARGV[i], history and KEYS[first_cast + i - first_voter]
  local is_void = redis.call('HGET', void, voter)
  local up, down = redis.call('SISMEMBER', voted, voter), redis.call('SISMEMBER', downvoted, voter)
  local up_at, down_at = cast and redis.call('ZSCORE', cast, number), cast and redis.call('ZSCORE', cast, '-' .. number)
  local moves
  if takes_out then
    if uncounted and voter == poster then
      up, down = 0, 0
    elseif forgotten and not is_void then
      up, down = up_at and 1 or 0, down_at and 1 or 0
    end
    moves = up + down > 0
    if moves or is_void then count = count + 1 end
  else
    moves = is_void
    local position = tonumber(string.match(is_void or '', '^%-?%d') or 0)
    up, down = position >= 0 and 1 - up or 0, position <= 0 and 1 - down or 0
  end
  if moves then
    local sign = takes_out and -1 or 1
    after, downvotes_after = after + sign * (up - down), downvotes_after + sign * down
    size = size - (is_void and 1 or 0) + (takes_out and 1 or 0)
    local at = up > down and up_at or down > up and down_at or '-'
    changes[#changes + 1] = {says = string.format('%d %.0f %s %s\n%s', up - down, tonumber(now), at, by, reason),
      voter = voter, up = up == 1, down = down == 1, cast = cast, stored = is_void}
  end
end
if #changes == 0 then return {'OK', count, redis.call('HGETALL', article)} end
if downvotes_after < 0 or after + downvotes_after < 0 then return redis.error_reply('CORRUPT votes of ' .. member) end

local names = words(expected_groups)
table.insert(names, 1, 'interesting')
local groups = groups_at(first_cast + cast_count, names)
for _, name in ipairs(names) do check_group(groups[name], member) end
must_be_stream(log)
must_be_allowed('HSET', article, 'HDEL', article, 'HGETALL', article, 'SADD', voted, 'SREM', voted, 'EXPIRE', voted,
  'SADD', downvoted, 'SREM', downvoted, 'EXPIRE', downvoted, 'HSET', void, 'HDEL', void, 'ZADD', scores, 'XADD', log)
for i = first_cast, first_cast + cast_count - 1 do must_be_allowed('ZADD', KEYS[i], 'EXPIRE', KEYS[i]) end
must_take_entries(events)

keep_front(clock, pages, scores, features, now)
local all_cast = hash[7] == hash[4]
for _, vote in ipairs(changes) do
  if takes_out then
    redis.call('SREM', voted, vote.voter)
    redis.call('SREM', downvoted, vote.voter)
    redis.call('HSET', void, vote.voter, vote.says)
  else
    if vote.up and not forgotten then redis.call('SADD', voted, vote.voter) end
    if vote.down and not forgotten then redis.call('SADD', downvoted, vote.voter) end
    redis.call('HDEL', void, vote.voter)
    local position, at = string.match(vote.stored, '^(%-?%d) %d+ (%S+) ')
    if at == '-' then at = all_cast and position ~= '0' and string.format('%d', math.floor(time)) end -- as fillcasts.lua
    if at and vote.cast and redis.call('ZADD', vote.cast, 'NX', at, position == '1' and number or '-' .. number) == 1
      and redis.call('ZCARD', vote.cast) == 1 and history > 0 then
      redis.call('EXPIRE', vote.cast, math.ceil(cast_expiry(time, window, history, now)))
    end
  end
end
local left = math.max(math.ceil(kept), 1)
if ups == 0 then redis.call('EXPIRE', voted, left) end
if downs == 0 then redis.call('EXPIRE', downvoted, left) end
local added = string.format('%d', worth(ranking, after) - worth(ranking, votes))
local score = redis.call('ZADD', scores, 'XX', 'INCR', added, member)
for i, name in ipairs(names) do
  if i > 1 and groups[name].has_score then redis.call('ZADD', groups[name].by_score, 'XX', 'INCR', added, member) end
end
local is_interesting = after >= tonumber(interesting_votes)
if is_interesting then enter(groups.interesting, member, score, time) else leave(groups.interesting, member) end
local cast = hash[7] and string.format('%d', hash[7] + after - votes)
redis.call('HSET', article, 'votes', string.format('%d', after), 'downvotes', string.format('%d', downvotes_after),
  'revision', string.format('%d', revision + 1), 'voided', size, cast and 'cast' or 'voided', cast or size)
if size == 0 then redis.call('HDEL', article, 'voided') end
log_moderation(log, max_entries, takes_out and 'votes_voided' or 'votes_restored', member, by, via, now,
  'title', hash[10] or '', 'link', hash[11] or '', 'reason', reason, 'ground', ground, 'basis', '')
append(events, 'votes_voided', member, revision + 1, after, downvotes_after, score, by, '', time, expected_groups, now,
  '', ground, '', reason)
for _, milestone in ipairs(words(milestones)) do
  local least = tonumber(milestone)
  if after >= least and votes < least and tonumber(hash[12] or 0) < least then
    redis.call('HSET', article, 'milestone', milestone)
    append(events, 'milestone', member, revision + 1, after, downvotes_after, score, by, milestone, time, expected_groups, now)
  end
end
return {'OK', count, redis.call('HGETALL', article)}
