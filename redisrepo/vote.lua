-- vote.lua: set the positions of one or more users on one article: up, down or none.
--
-- KEYS[1]   article:ID         hash     the article
-- KEYS[2]   voted:ID           set      the upvoters
-- KEYS[3]   downvoted:ID       set      the downvoters
-- KEYS[4]   time:              zset     posting times, Unix seconds
-- KEYS[5]   score:             zset     the ranking, Unix seconds
-- KEYS[6]   changes:           channel  on which each change is published
-- KEYS[7]   audit:ID           hash     each voter's last vote, its time and bucket; unused without a bucket
-- KEYS[8]   group:interesting  set      the interesting articles
-- KEYS[9]   score:interesting  zset     its listing by score; need not exist
-- KEYS[10]  time:interesting   zset     its listing by time; need not exist
-- KEYS[11]  clock:             hash     fold pointer and peaks of the calendar, and the last hour with a front page
-- KEYS[12]  top:h:HOUR         zset     articles by net votes, of the hour of posting
-- KEYS[13]  top:d:DAY          zset     the same of the day
-- KEYS[14]  top:m:MONTH        zset     the same of the 32 days
-- KEYS[15]  front:             zset     the front pages of past hours
-- KEYS[16]  best:              zset     the best rank of articles
-- KEYS[17]  events:            stream   the change feed
-- KEYS[18...] score:NAME       zset     of each name in ARGV[2], its listing by score; need not exist. Then, with
--           group_top, clock:NAME, top:h:HOUR:NAME, top:d:DAY:NAME and top:m:MONTH:NAME of each. Then, with cast, for
--           each vote cast:USER:MONTH, a zset: what the voter voted on among the articles of that month
-- ARGV[1]   the article's member
-- ARGV[2]   the article's groups as the caller expects them: sorted names, separated by spaces
-- ARGV[3]   posting time of the article that the caller knows, as it was replied; empty: it knows none
-- ARGV[4]   title of that article
-- ARGV[5]   now, Unix seconds; empty: the server's clock
-- ARGV[6...] two for each vote, all of different users: the position (1 up, -1 down, 0 none), a space and the
--           voter's member; and a pseudonym of the voter's address, empty if the vote is not recorded
--
-- Replies {'OK', votes, downvotes, revision, rest, before, ...}
--             the numbers after all votes; 0 if ARGV[3] and [4] are those of this article, else its posting time
--             and its whole hash before the votes, {time, {field, value, ...}}; the position before each vote, or
--             2 if it is refused, since the poster's vote does not count and cannot be changed
--         {'NOT_FOUND'}         the article does not exist or is deleted
--         {'CLOSED'}            the voting window is over, or the voters are forgotten
--         {'STALE', groups, '', '', time}  ARGV[2] differs from these groups, or the keys from those of this posting
--                               time: call again with them
--         {'UNLISTED', poster, time}  the hash does not list the groups: call adopt.lua, and again
-- The rules are not among the arguments, which cost time for each vote: voteText in scripts.go defines them before
-- the script, and leaves out the blocks of other rankings. vote_score is the worth of one vote in seconds, ranking any
-- other ranking, as worth in shared.lua takes it, window the voting window in seconds, margin how much longer the voters
-- are kept, interesting_votes the net votes that make an article interesting.
-- max_events is how many events the change feed keeps, milestones the net votes that make an event.
-- With cast, history is how long votes are kept in cast:USER:MONTH, seconds, or 0: for ever.
-- front_hours is for how many hours front pages are kept, first_listing the index in KEYS of the first listing. Blocks of
-- features that are off are left out, and the blocks keyed, with KEYS[11] to [17], if all are: then first_listing is 11.
-- A line define puts functions of shared.lua where only some calls need them.
-- Safe to run twice: the second run finds the positions set and changes nothing.

local call = redis.call
local article, voted, downvoted, times, scores = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local channel, audit = KEYS[6], KEYS[7]
local member, groups, known_time, known_title = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local time = call('ZSCORE', times, member)
local hash = call('HMGET', article, 'votes', 'downvotes', 'groups', 'revision', 'title', 'uncounted', 'cast')
local votes, downvotes, revision = whole(hash[1] or '0'), whole(hash[2] or '0'), whole(hash[4] or '0')
local hash_groups, uncounted = hash[3], hash[6] == '1'
if not time then return {'NOT_FOUND'} end
local corrupt = 'CORRUPT votes, revision or score of ' .. member
if not votes or not downvotes or not revision then return redis.error_reply(corrupt) end
local now = tonumber(now_or(ARGV[5]))
if now > time + window then return {'CLOSED'} end
if hash_groups and hash_groups ~= groups then return {'STALE', hash_groups, '', '', time} end
-- begin keyed
if hash_groups and time ~= known_time and not posted_in(KEYS[12], time) then return {'STALE', hash_groups, '', '', time} end
-- end keyed

local poster = uncounted and call('HGET', article, 'poster')
local reply = {'OK', votes, downvotes, revision, 0}
local changes, after, only_upvotes, recorded = {}, votes, true, false
-- begin events
local passes = false -- a milestone, perhaps not for the first time
-- end events
for i = 6, #ARGV, 2 do
  local first = string.byte(ARGV[i]) -- of -1, 0 or 1
  local position = first == 45 and -1 or first - 48
  local voter = string.sub(ARGV[i], first == 45 and 4 or 3)
  local up = call('SISMEMBER', voted, voter)
  local down = (downvotes > 0 or position == -1) and call('SISMEMBER', downvoted, voter) or 0
  local before = up - down
  if position ~= before and voter == poster then
    reply[#reply + 1] = 2
  else
    reply[#reply + 1] = before
    if position ~= before or up + down == 2 then -- 2: a legacy client upvoted over a downvote
      changes[#changes + 1] = {voter, position, up, down, ARGV[i], ARGV[i + 1], KEYS[#KEYS - (#ARGV - i - 1) / 2]}
-- begin events
      for m = 1, #milestones do passes = passes or after < milestones[m] and after + position - before >= milestones[m] end
-- end events
      after = after + position - before
      only_upvotes = only_upvotes and position == 1 and up + down == 0
      recorded = recorded or ARGV[i + 1] ~= ''
    end
  end
end

-- PTTL is -2 for a set without members. The first upvote on a legacy client's article is its poster's, so it is known
-- without the set, too.
local voted_left = call('PTTL', voted)
local downvoted_left = (downvotes > 0 or not only_upvotes) and call('PTTL', downvoted)
if voted_left == -2 and (uncounted or votes + downvotes > (hash_groups and 0 or 1)) or downvotes > 0 and downvoted_left == -2 then
  return {'CLOSED'} -- the window was shorter once, so the voters have been forgotten
end
if not hash_groups then return {'UNLISTED', call('HGET', article, 'poster') or '', time} end
if time ~= known_time or (hash[5] or '') ~= known_title then reply[5] = {time, call('HGETALL', article)} end
if #changes == 0 then return reply end

-- All types and rights are checked before the first write, except those of the ranking, which it is to.
local listings = {}
local last_listing = #KEYS
-- begin cast
last_listing = last_listing - (#ARGV - 5) / 2
-- end cast
-- begin group_top
last_listing = first_listing - 1 + (last_listing - first_listing + 1) / 5
-- end group_top
for i = first_listing, last_listing do
  if call('ZCARD', KEYS[i]) > 0 then listings[#listings + 1] = KEYS[i] end
end
local interesting
if votes >= interesting_votes or after >= interesting_votes then
  if after >= interesting_votes and call('SISMEMBER', KEYS[8], member) == 1 then -- it stays
    if call('ZCARD', KEYS[9]) > 0 then listings[#listings + 1] = KEYS[9] end
  else
    -- define check_group
    interesting = {members = KEYS[8], by_score = KEYS[9], by_time = KEYS[10]}
    check_group(interesting, member)
  end
end
-- begin calendar
local unit = #KEYS[11] - 1 -- where the list's unit and number begin, after the tag and top:
local p_hour, p_day = 'p:' .. string.sub(KEYS[12], unit), 'p:' .. string.sub(KEYS[13], unit)
local p_month = 'p:' .. string.sub(KEYS[14], unit)
local clock = call('HMGET', KEYS[11], 'folded', p_day, p_hour, p_month, 'front')
local folded, after_text = clock[1], string.format('%d', after)
local young, p_young, peak = KEYS[12], p_hour, clock[3] -- the list besides that of the day
if folded and tonumber(string.sub(p_day, 5)) <= tonumber(folded) then young, p_young, peak = KEYS[14], p_month, clock[4] end
local raises_day, raises_young = not clock[2] or after > tonumber(clock[2]), not peak or after > tonumber(peak)
must_be_zset(KEYS[13], young)
must_be_allowed('ZADD', KEYS[13], 'ZADD', young)
if raises_day or raises_young then must_be_allowed('HSET', KEYS[11]) end
-- end calendar
-- begin group_top
local schedules = {}
for k = last_listing + 1, last_listing + 4 * (last_listing - first_listing + 1), 4 do
  local calendar = {clock = KEYS[k], hours = KEYS[k + 1], days = KEYS[k + 2], months = KEYS[k + 3]}
  check_calendar(calendar, KEYS[11])
  schedules[#schedules + 1] = calendar
end
-- end group_top
local first_record = recorded and call('HLEN', audit) == 0
local kept = time_to_keep(time, window, margin, now)
local may_empty = #changes > 1 and not only_upvotes -- a set that loses its last member loses its expiry
local renews_voted = may_empty or math.abs(voted_left - 1000 * kept) > 60000
local renews_downvoted = downvoted_left and (may_empty or math.abs(downvoted_left - 1000 * kept) > 60000)

-- begin events
local reached = passes and whole(call('HGET', article, 'milestone') or '0') or 0
if not reached then return redis.error_reply('CORRUPT milestone of ' .. member) end
must_be_stream(KEYS[17])
must_be_allowed('XADD', KEYS[17])
-- end events
must_be_allowed(publication(channel), channel, 'HSET', article, 'SADD', voted)
if renews_voted then must_be_allowed('EXPIRE', voted) end
if renews_downvoted then must_be_allowed('EXPIRE', downvoted) end
if not only_upvotes then must_be_allowed('SREM', voted, 'SADD', downvoted, 'SREM', downvoted) end
if recorded then must_be_allowed('HSET', audit, 'EXPIRE', audit) end
for i = 1, #listings do must_be_allowed('ZADD', listings[i]) end
if interesting then
  -- define must_be_changeable
  must_be_changeable(interesting)
end
-- begin cast
local number, in_casts, before_votes = string.sub(member, 9), whole(hash[7]), votes
for i = 1, #changes do
  local change = changes[i]
  local cast = change[7]
  change[8] = call('ZCARD', cast)
  must_be_allowed('ZADD', cast)
  if change[8] == 0 then must_be_allowed('EXPIRE', cast) end
  if change[8] >= 10000 then must_be_allowed('ZREMRANGEBYRANK', cast) end
  if not only_upvotes then must_be_allowed('ZREM', cast) end
end
-- end cast

-- begin front_alone
local saved = call('HGET', KEYS[11], 'front')
-- end front_alone
-- begin calendar
local saved = clock[5]
-- end calendar
-- begin front
if not saved or math.floor(now / 3600) > tonumber(saved) then
  -- define front_page save_front
  save_front(KEYS[11], KEYS[15], scores, saved, front_hours, now)
end
-- end front
-- begin linear
local added = string.format('%d', (after - votes) * vote_score)
-- end linear
-- begin decaying
local added = string.format('%d', worth(ranking, after) - worth(ranking, votes))
-- end decaying
local score = call('ZADD', scores, 'XX', 'INCR', added, member)
if not score then return redis.error_reply(corrupt) end
for i = 1, #listings do call('ZADD', listings[i], 'XX', 'INCR', added, member) end
local votes_text, downvotes_text, revision_text
for i = 1, #changes do
  local voter, position, up, down, vote, bucket = unpack(changes[i])
  if up == 1 and position ~= 1 then call('SREM', voted, voter) end
  if down == 1 and position ~= -1 then call('SREM', downvoted, voter) end
  if up == 0 and position == 1 then call('SADD', voted, voter) end
  if down == 0 and position == -1 then call('SADD', downvoted, voter) end
-- begin cast
  local cast, size = changes[i][7], changes[i][8]
  if position ~= 0 then call('ZADD', cast, string.format('%d', now), position == 1 and number or '-' .. number) end
  if up == 1 and position ~= 1 then call('ZREM', cast, number) end
  if down == 1 and position ~= -1 then call('ZREM', cast, '-' .. number) end
  if size == 0 and history > 0 then
    call('EXPIRE', cast, cast_expiry(time, window, history, now))
  elseif size >= 10000 then -- 0 says that older votes are missing
    call('ZREMRANGEBYRANK', cast, 0, 99)
    call('ZADD', cast, now, '0')
  end
-- end cast
  if bucket ~= '' then call('HSET', audit, voter, string.format('%d %.0f %s', position, now, bucket)) end
  votes, downvotes, revision = votes + position - up + down, downvotes - down + (position == -1 and 1 or 0), revision + 1
  votes_text, downvotes_text, revision_text = string.format('%d', votes), string.format('%d', downvotes), string.format('%d', revision)
  local its_score = score
  if votes ~= after then
-- begin linear
    its_score = string.format('%.17g', score - (after - votes) * vote_score)
-- end linear
-- begin decaying
    its_score = string.format('%.17g', score - worth(ranking, after) + worth(ranking, votes))
-- end decaying
  end
  publish(channel, 'voted', member, revision, votes, downvotes, its_score, groups, vote)
-- begin events
  tell(KEYS[17], max_events, 'voted', member, revision_text, votes_text, downvotes_text, its_score, voter,
    string.sub(vote, 1, position == -1 and 2 or 1))
  for m = 1, passes and #milestones or 0 do
    if votes >= milestones[m] and votes - position + up - down < milestones[m] and reached < milestones[m] then
      reached = milestones[m]
      call('HSET', article, 'milestone', reached)
      tell(KEYS[17], max_events, 'milestone', member, revision, votes, downvotes, its_score, voter, reached)
    end
  end
-- end events
end
-- begin calendar
call('ZADD', KEYS[13], after_text, member)
call('ZADD', young, after_text, member)
if raises_day then call('HSET', KEYS[11], p_day, after_text) end
if raises_young then call('HSET', KEYS[11], p_young, after_text) end
-- end calendar
-- begin group_top
for i = 1, #schedules do schedule(schedules[i], member, after) end
-- end group_top
call('HSET', article, 'votes', votes_text, 'downvotes', downvotes_text, 'revision', revision_text
-- begin cast
  , in_casts and 'cast' or 'revision', in_casts and string.format('%d', in_casts + votes - before_votes) or revision_text
-- end cast
)
if renews_voted then call('EXPIRE', voted, kept) end
if renews_downvoted then call('EXPIRE', downvoted, kept) end
if first_record then call('EXPIRE', audit, kept) end
if interesting then
  -- define enter leave
  local change = after >= interesting_votes and enter or leave
  change(interesting, member, score, time)
end

reply[2], reply[3], reply[4] = votes, downvotes, revision
return reply
