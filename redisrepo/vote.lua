-- vote.lua: set one user's position on one article: up, down or none.
--
-- KEYS[1]   article:ID     hash     the article
-- KEYS[2]   voted:ID       set      the upvoters
-- KEYS[3]   downvoted:ID   set      the downvoters
-- KEYS[4]   time:          zset     posting times, Unix seconds
-- KEYS[5]   score:         zset     the ranking, Unix seconds
-- KEYS[6]   posted:NAME    zset     the articles of ARGV[10]; unused if that is not the poster
-- KEYS[7]   changes:       channel  on which the change is published
-- KEYS[8]   audit:ID       hash     each voter's last vote, its time and bucket; unused without ARGV[11]
-- KEYS[9...] three keys of the group interesting, then of each name in ARGV[9]
-- ARGV[1]   the article's member
-- ARGV[2]   the voter's member
-- ARGV[3]   the position: 1 up, -1 down, 0 none
-- ARGV[4]   worth of one vote, seconds
-- ARGV[5]   voting window, seconds
-- ARGV[6]   how much longer than the window the voters are kept, seconds
-- ARGV[7]   net votes that make an article interesting
-- ARGV[8]   now, Unix seconds; empty: the server's clock
-- ARGV[9]   the article's groups as the caller expects them: sorted names, separated by spaces
-- ARGV[10]  the poster's member as the caller expects it, or empty
-- ARGV[11]  pseudonym of the voter's address; empty: the vote is not recorded
-- ARGV[12]  1 if the caller found ARGV[9] in the groups' sets, else 0
--
-- Replies {'OK', position before, {field, value, ...}}  the hash after the vote
--         {'NOT_FOUND'}               the article does not exist or is deleted
--         {'CLOSED', posting time}    the voting window is over, or the voters are forgotten
--         {'FIXED'}                   the poster's vote does not count and cannot be changed
--         {'STALE', groups, poster}   ARGV[9] and [10] differ from these: call again with them
--         {'UNLISTED', poster}        the hash does not list the groups: find them, and call again
-- Safe to run twice: the second run finds the position set and changes nothing.

local article, voted, downvoted = KEYS[1], KEYS[2], KEYS[3]
local times, scores, posted = KEYS[4], KEYS[5], KEYS[6]
local changes, audit = KEYS[7], KEYS[8]
local member, voter, position = ARGV[1], ARGV[2], tonumber(ARGV[3])
local vote_score, window, margin = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local interesting_votes, now = tonumber(ARGV[7]), ARGV[8]
local expected_groups, expected_poster, bucket = ARGV[9], ARGV[10], ARGV[11]
local found = ARGV[12] == '1'

local time = redis.call('ZSCORE', times, member)
local hash = redis.call('HMGET', article,
  'votes', 'downvotes', 'groups', 'poster', 'uncounted', 'time', 'revision')
if not time or not hash[6] then return {'NOT_FOUND'} end
local votes, downvotes = whole(hash[1] or '0'), whole(hash[2] or '0')
local hash_groups, poster = hash[3], hash[4] or ''
if not votes or not downvotes or not whole(hash[7] or '0') or not redis.call('ZSCORE', scores, member) then
  return redis.error_reply('CORRUPT votes, revision or score of ' .. member)
end

now = tonumber(now_or(now))
if now > tonumber(time) + window then return {'CLOSED', time} end

local names = words(expected_groups)
table.insert(names, 1, 'interesting')
local groups = groups_at(9, names)
local current = groups_of(hash_groups, expected_groups, found, groups, member, poster == expected_poster)
if not current then
  if not hash_groups then return {'UNLISTED', poster} end
  return {'STALE', hash_groups, poster}
end

local up = redis.call('SISMEMBER', voted, voter)
local down = redis.call('SISMEMBER', downvoted, voter)
local uncounted = hash[5] == '1'
local upvotes = votes + downvotes
-- The first upvote on a legacy client's article is its poster's, so it is known without the set, too.
local known_upvotes = hash_groups and 0 or 1
local has_upvoters, has_downvoters = redis.call('EXISTS', voted) == 1, redis.call('EXISTS', downvoted) == 1
if (upvotes > known_upvotes or uncounted) and not has_upvoters or downvotes > 0 and not has_downvoters then
  return {'CLOSED', time} -- the window was shorter once, so the voters have been forgotten
end

local before = up - down
if uncounted and voter == poster and position ~= before then return {'FIXED'} end

names = words(current)
table.insert(names, 1, 'interesting')
for _, name in ipairs(names) do check_group(groups[name], member) end
if bucket ~= '' then redis.call('HLEN', audit) end

local changed = position ~= before or up + down == 2 -- 2: a legacy client upvoted over a downvote
if changed then
  must_be_allowed(publication(changes), changes, 'HINCRBY', article, 'ZINCRBY', scores, 'EXPIRE', voted, 'SADD', voted,
    'HGETALL', article)
  if up + down > 0 or position == -1 then
    must_be_allowed('SREM', voted, 'SREM', downvoted, 'SADD', downvoted, 'EXPIRE', downvoted)
  end
  if bucket ~= '' then must_be_allowed('HSET', audit, 'EXPIRE', audit) end
  for _, name in ipairs(names) do
    if groups[name].has_score then must_be_allowed('ZADD', groups[name].by_score) end
  end
  local interesting = groups.interesting
  if votes + position - before >= interesting_votes or interesting.has_member or interesting.has_score or interesting.has_time then
    must_be_changeable(interesting)
  end
end
if not hash_groups then must_be_allowed('HSET', article, 'ZADD', posted, 'SADD', voted, 'EXPIRE', voted) end

local kept = time_to_keep(time, window, margin, now)
if not hash_groups then -- add what the legacy client did not write
  must_be_zset(posted)
  redis.call('HSET', article, 'groups', current, 'downvotes', downvotes)
  redis.call('ZADD', posted, time, member)
  if not has_upvoters and upvotes > 0 then -- legacy clients count the poster's vote as the first
    redis.call('SADD', voted, poster)
    redis.call('EXPIRE', voted, kept)
  end
end

if changed then
  if up == 1 then redis.call('SREM', voted, voter) end
  if down == 1 then redis.call('SREM', downvoted, voter) end
  local set = position == 1 and voted or position == -1 and downvoted
  if set then
    redis.call('SADD', set, voter)
    redis.call('EXPIRE', set, kept)
  end
  if bucket ~= '' then
    redis.call('HSET', audit, voter, string.format('%d %.0f %s', position, now, bucket))
    redis.call('EXPIRE', audit, kept)
  end
  local step = position - before
  votes = redis.call('HINCRBY', article, 'votes', step)
  if (position == -1) ~= (down == 1) then
    downvotes = redis.call('HINCRBY', article, 'downvotes', position == -1 and 1 or -1)
  end
  local score = redis.call('ZINCRBY', scores, step * vote_score, member)
  for _, name in ipairs(names) do
    if groups[name].has_score then
      redis.call('ZADD', groups[name].by_score, 'XX', 'INCR', step * vote_score, member)
    end
  end
  if votes >= interesting_votes then
    enter(groups.interesting, member, score, time)
  else
    leave(groups.interesting, member)
  end
  publish(changes, 'voted', member, redis.call('HINCRBY', article, 'revision', 1),
    votes, downvotes, score, current, ARGV[3] .. ' ' .. voter)
end

return {'OK', before, redis.call('HGETALL', article)}
