-- void.lua: take the votes of some users on an article out of all counts, as if they had never been cast, or put them back.
--
-- uses types names now whole append milestones moderation worth keep_front cast_expiry
-- KEY article            article:ID    hash    the article
-- KEY voted              voted:ID      set     the upvoters
-- KEY downvoted          downvoted:ID  set     the downvoters
-- KEY void               void:ID       hash    the votes that do not count: see keys.Kinds
-- KEY scores             score:        zset    the ranking, Unix seconds
-- KEY clock              clock:        hash    the last hour with a front page
-- KEY pages              front:        zset    the front pages of past hours
-- KEY log                moderation:   stream  the moderation log
-- KEY events             events:       stream  the log
-- KEY interesting        group:interesting  set  the articles with many votes
-- KEYS cast              with history cast:USER:MONTH of each user, zsets: what the user voted on among the articles of that month
-- ARG member             the article's member
-- ARG takes_out          1 to take votes out, 0 to put them back
-- ARG by                 the moderator's member
-- ARG via                the member of the service that acts for by, or empty
-- ARG reason             the reason in words
-- ARG ground             its ground; empty: no reason is given
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
-- and after that cast:USER:MONTH. A poster's vote that does not count anyway stays. A deleted article has no score to change, and its
-- revision stays, since the log has no entry about it: by one, it would come back to the calendars.
--
-- Replies {'OK', void, {field, value, ...}}  how many of these users have a vote that does not count, and the article's hash
--         {'NOT_FOUND'}                      the article does not exist
--         {'STALE', '', '', '', time}        MONTH differs from that of this posting time: call again
-- Safe to run twice: the second run finds the votes out, or back, and changes nothing.

takes_out = takes_out == '1'
history = tonumber(history)

local hash = redis.call('HMGET', article, 'time', 'groups', 'poster', 'votes', 'downvotes', 'revision', 'cast', 'uncounted',
  'deleted', 'title', 'link')
local time = hash[1]
local group_text = hash[2]
local poster = hash[3] or ''
local votes = whole(hash[4] or '0')
local downvotes = whole(hash[5] or '0')
local revision = whole(hash[6] or '0')
local in_casts = hash[7]
local all_in_casts = in_casts == hash[4]
local uncounted = hash[8] == '1'
local is_deleted = hash[9]
local title = hash[10] or ''
local link = hash[11] or ''
local number = string.sub(member, 9)

local is_listed = redis.call('ZSCORE', scores, member)
if not time or not group_text or not is_deleted and not is_listed then return {'NOT_FOUND'} end
local cast_count = history and #ARGV - first_voter + 1 or 0
if cast_count > 0 and not is_of_month(KEYS[first_cast], time) then return {'STALE', '', '', '', time} end
if not tonumber(time) or not votes or not downvotes or not revision then
  return redis.error_reply('CORRUPT time, votes, downvotes or revision of ' .. member)
end
now = now_or(now)

-- A set without members does not exist. Without the set of some votes, the voters are forgotten.
local kept = tonumber(time) + window + margin - now
local ups = redis.call('SCARD', voted)
local downs = redis.call('SCARD', downvoted)
local lacks_ups = ups == 0 and votes + downvotes + (uncounted and 1 or 0) > 0
local lacks_downs = downs == 0 and downvotes > 0
local forgotten = lacks_ups or lacks_downs or ups + downs == 0 and kept <= 0

-- changes has the votes to move. A vote of a legacy client may be up and down.
local changes = {}
local size = redis.call('HLEN', void)
local count = 0
local after = votes
local downvotes_after = downvotes
local sign = takes_out and -1 or 1
for i = first_voter, #ARGV do
  local voter = ARGV[i]
  local cast = history and KEYS[first_cast + i - first_voter]
  local is_void = redis.call('HGET', void, voter)
  local up = redis.call('SISMEMBER', voted, voter)
  local down = redis.call('SISMEMBER', downvoted, voter)
  local up_at = cast and redis.call('ZSCORE', cast, number)
  local down_at = cast and redis.call('ZSCORE', cast, '-' .. number)
  local changes_vote
  if takes_out then
    if uncounted and voter == poster then
      up, down = 0, 0
    elseif forgotten and not is_void then
      up = up_at and 1 or 0
      down = down_at and 1 or 0
    end
    changes_vote = up + down > 0
    if changes_vote or is_void then count = count + 1 end
  elseif is_void then
    local position = tonumber(string.match(is_void, '^%-?%d') or 0)
    up = position >= 0 and 1 - up or 0
    down = position <= 0 and 1 - down or 0
    changes_vote = true
  end
  if changes_vote then
    after = after + sign * (up - down)
    downvotes_after = downvotes_after + sign * down
    if is_void then size = size - 1 end
    if takes_out then size = size + 1 end
    local at = up > down and up_at or down > up and down_at or '-'
    changes[#changes + 1] = {
      voter = voter,
      up = up == 1,
      down = down == 1,
      cast = cast,
      stored = is_void,
      new_void = string.format('%d %.0f %s %s\n%s', up - down, tonumber(now), at, by, reason),
    }
  end
end
if #changes == 0 then return {'OK', count, redis.call('HGETALL', article)} end
if downvotes_after < 0 or after + downvotes_after < 0 then return redis.error_reply('CORRUPT votes of ' .. member) end

local function take_out(vote)
  redis.call('HSET', void, vote.voter, vote.new_void)
  redis.call('SREM', voted, vote.voter)
  redis.call('SREM', downvoted, vote.voter)
end

local function put_back(vote)
  if vote.up and not forgotten then redis.call('SADD', voted, vote.voter) end
  if vote.down and not forgotten then redis.call('SADD', downvoted, vote.voter) end
  redis.call('HDEL', void, vote.voter)
  local position, at = string.match(vote.stored, '^(%-?%d) %d+ (%S+) ')
  if at == '-' then at = all_in_casts and position ~= '0' and string.format('%d', math.floor(time)) end -- as fillcasts.lua
  if not at or not vote.cast then return end
  local added = redis.call('ZADD', vote.cast, 'NX', at, position == '1' and number or '-' .. number)
  if added == 1 and history > 0 and redis.call('ZCARD', vote.cast) == 1 then
    redis.call('EXPIRE', vote.cast, math.ceil(cast_expiry(time, window, history, now)))
  end
end

if is_listed then keep_front(clock, pages, scores, features, now) end
for _, vote in ipairs(changes) do
  if takes_out then take_out(vote) else put_back(vote) end
end
local left = math.max(math.ceil(kept), 1)
if ups == 0 then redis.call('EXPIRE', voted, left) end
if downs == 0 then redis.call('EXPIRE', downvoted, left) end

redis.call('HSET', article, 'votes', string.format('%d', after), 'downvotes', string.format('%d', downvotes_after), 'voided', size)
if in_casts then redis.call('HSET', article, 'cast', string.format('%d', in_casts + after - votes)) end
if size == 0 then redis.call('HDEL', article, 'voided') end

local kind = takes_out and 'votes_voided' or 'votes_restored'
log_moderation(log, max_entries, kind, member, by, via, now,
  'title', title, 'link', link, 'reason', reason, 'ground', ground, 'basis', '')
if not is_listed then return {'OK', count, redis.call('HGETALL', article)} end -- undelete.lua ranks it by these votes

local added = string.format('%d', worth(ranking, after) - worth(ranking, votes))
local score = redis.call('ZADD', scores, 'XX', 'INCR', added, member)
redis.call(after >= tonumber(interesting_votes) and 'SADD' or 'SREM', interesting, member)
revision = revision + 1
redis.call('HSET', article, 'revision', string.format('%d', revision))
local change = {
  revision = revision, votes = after, downvotes = downvotes_after, score = score, by = by, to = '',
  time = time, groups = group_text, at = now, ground = ground, basis = '', reason = reason,
}
append(events, 'votes_voided', member, change)
local numbers = {}
for _, milestone in ipairs(words(milestones)) do numbers[#numbers + 1] = tonumber(milestone) end
append_milestones(events, article, numbers, votes, after)
return {'OK', count, redis.call('HGETALL', article)}
