-- vote.lua: set the position of a user on an article: up, down or none.
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
--           group_top, clock:NAME, top:h:HOUR:NAME, top:d:DAY:NAME and top:m:MONTH:NAME of each. Then, with cast,
--           cast:USER:MONTH, a zset: what the voter voted on among the articles of that month
-- ARGV[1]   the article's member
-- ARGV[2]   the article's groups as the caller expects them: sorted names, separated by spaces
-- ARGV[3]   posting time of the article that the caller knows, as it was replied; empty: it knows none
-- ARGV[4]   title of that article
-- ARGV[5]   now, Unix seconds; empty: the server's clock
-- ARGV[6]   the position (1 up, -1 down, 0 none), a space and the voter's member
-- ARGV[7]   a pseudonym of the voter's address, empty if the vote is not recorded
--
-- Replies {'OK', votes, downvotes, revision, rest, before}
--             the numbers after the vote; 0 if ARGV[3] and [4] are those of this article, else its posting time
--             and its whole hash before the vote, {time, {field, value, ...}}; the position before, or 2 if the
--             vote is refused, since the poster's vote does not count and cannot be changed
--         {'NOT_FOUND'}         the article does not exist or is deleted
--         {'CLOSED'}            the voting window is over, or the voters are forgotten
--         {'STALE', groups, '', '', time}  ARGV[2] differs from these groups, or the keys from those of this posting
--                               time: call again with them
--         {'UNLISTED', poster, time}  the hash does not list the groups: call adopt.lua, and again
-- The rules are not among the arguments, which cost time for each vote: votingText in scripts.go puts their values
-- where the names in capitals are, and leaves out the blocks of what is off. VOTE_SCORE is the worth of one vote in seconds,
-- RANKING any other ranking, as worth.lua takes it, WINDOW the voting window in seconds, MARGIN how much longer
-- the voters are kept, INTERESTING the net votes that make an article interesting. EVENTS is how many events the change feed
-- keeps, MILESTONES the net votes that make an event, CROSSES whether the vote reaches one of them, HISTORY how long votes are
-- kept in cast:USER:MONTH, seconds, or 0: for ever, FRONT_HOURS for how many hours front pages are kept, and FIRST_LISTING the
-- index in KEYS of the first listing: 11 without the blocks keyed, with KEYS[11] to [17]. A line define puts functions of
-- the shared files where only some calls need them.
-- Safe to run twice: the second run finds the positions set and changes nothing.
--
-- Other scripts check all types and rights before their first write. That would be a quarter of a vote's time, so this one
-- undoes what it did when a command fails, and checks only what it could not undo.

local last_listing = #KEYS
-- begin cast
last_listing = last_listing - 1
local cast = KEYS[#KEYS]
-- end cast
-- begin group_top
last_listing = FIRST_LISTING - 1 + (last_listing - FIRST_LISTING + 1) / 5
-- end group_top

local voter, position = string.sub(ARGV[6], 3), string.byte(ARGV[6]) - 48 -- of 1 or 0
if position < 0 then voter, position = string.sub(ARGV[6], 4), -1 end

-- What was done: whether the position changed, from which memberships in the sets, the hash before, what was added to the
-- score, and in which rankings.
local changes, up, down, before, added, ranked = false, 0, 0, nil, nil, {}
-- begin calendar
local raised = {} -- clocks with the field of a peak, and what it was
-- end calendar
-- begin events
local told, milestone = {}, nil -- the ids of the events; the milestone before, if one may be reached
-- end events

local function vote()
  local call, article, voted, downvoted, member = redis.call, KEYS[1], KEYS[2], KEYS[3], ARGV[1]
  local time = call('ZSCORE', KEYS[4], member)
  local hash = call('HMGET', article, 'votes', 'downvotes', 'revision', 'groups', 'title', 'uncounted'
-- begin cast
    , 'cast'
-- end cast
  )
  if not time then return {'NOT_FOUND'} end
  local votes, downvotes, revision = tonumber(hash[1] or 0), tonumber(hash[2] or 0), tonumber(hash[3] or 0)
  local groups, uncounted = hash[4], hash[6] == '1'
  if not (votes and downvotes and revision) or (votes + downvotes + revision) % 1 > 0 then
    return redis.error_reply('CORRUPT votes, downvotes or revision of ' .. member)
  end
  local posted, is_known = tonumber(time), time == ARGV[3]
  local clock_time = ARGV[5] ~= '' and ARGV[5] or call('TIME')[1]
  local now = tonumber(clock_time)
  if now > posted + WINDOW then return {'CLOSED'} end
  if groups and groups ~= ARGV[2] then return {'STALE', groups, '', '', time} end
-- begin keyed
  if groups and not is_known then
    -- define hour_of posted_in
    if not posted_in(KEYS[12], time) then return {'STALE', groups, '', '', time} end
  end
-- end keyed

  local upward = downvotes == 0 and position == 1 -- no voter has or gets a downvote
  -- PTTL is -2 for a set without members. The first upvote on a legacy client's article is its poster's, so it is known
  -- without the set, too.
  local voted_left, downvoted_left = call('PTTL', voted), not upward and call('PTTL', downvoted)
  if voted_left == -2 and (uncounted or votes + downvotes > (groups and 0 or 1)) or downvotes > 0 and downvoted_left == -2 then
    return {'CLOSED'} -- the window was shorter once, so the voters have been forgotten
  end
  local poster = (uncounted or not groups) and call('HGET', article, 'poster')
  if not groups then return {'UNLISTED', poster or '', time} end
  local rest = 0
  if not is_known or (hash[5] or '') ~= ARGV[4] then rest = {time, call('HGETALL', article)} end

  before = hash
  if upward and voter ~= poster then
    up = 1 - call('SADD', voted, voter)
  else
    up = call('SISMEMBER', voted, voter)
    if downvotes > 0 or position == -1 then down = call('SISMEMBER', downvoted, voter) end
  end
  local old, recorded = up - down, ARGV[7] ~= ''
  if position == old and up + down < 2 then return {'OK', votes, downvotes, revision, rest, old} end -- 2: a legacy client upvoted over a downvote
  if position ~= old and voter == poster then return {'OK', votes, downvotes, revision, rest, 2} end
  changes = true
  local after, downvotes_after = votes + position - old, downvotes - down + (position == -1 and 1 or 0)

  local enters, interesting = votes >= INTERESTING or after >= INTERESTING, nil
  local stays = enters and after >= INTERESTING and call('SISMEMBER', KEYS[8], member) == 1
  local first_record = recorded and call('HLEN', KEYS[7]) == 0
  if recorded or not upward or enters and not stays then
    -- define must_be_zset publication must_be_allowed check_group must_be_changeable
    must_be_allowed(publication(KEYS[6]), KEYS[6], 'HSET', article)
    if not upward then must_be_allowed('SADD', voted, 'SREM', voted, 'SADD', downvoted, 'SREM', downvoted) end
    if recorded then must_be_allowed('HSET', KEYS[7], 'EXPIRE', KEYS[7]) end
    if enters and not stays then
      interesting = {members = KEYS[8], by_score = KEYS[9], by_time = KEYS[10]}
      check_group(interesting, member)
      must_be_changeable(interesting)
    end
-- begin cast
    call('ZCARD', cast)
    must_be_allowed('ZADD', cast, 'ZREM', cast)
-- end cast
-- begin events
    -- define must_be_stream
    must_be_stream(KEYS[17])
    must_be_allowed('XADD', KEYS[17])
-- end events
  end

-- begin calendar
  local peak_of = 'p:' .. string.sub(KEYS[12], #KEYS[11] - 1) -- what precedes the unit is 2 shorter than clock: and its tag
  local clock = call('HMGET', KEYS[11], 'folded', peak_of, 'front')
  local saved = clock[3]
-- end calendar
-- begin front_alone
  local saved = call('HGET', KEYS[11], 'front')
-- end front_alone
-- begin front
  if not saved or now >= (saved + 1) * 3600 then
    -- define front_page must_be_allowed save_front
    save_front(KEYS[11], KEYS[15], KEYS[5], saved, FRONT_HOURS, now)
  end
-- end front
-- begin events
  if CROSSES then milestone = call('HGET', article, 'milestone') or '0' end
  local reached = tonumber(milestone or 0)
  if not reached then error('CORRUPT milestone of ' .. member, 0) end
-- end events
  if not upward then
    if up == 1 and position ~= 1 then call('SREM', voted, voter) end
    if down == 1 and position ~= -1 then call('SREM', downvoted, voter) end
    if up == 0 and position == 1 then call('SADD', voted, voter) end
    if down == 0 and position == -1 then call('SADD', downvoted, voter) end
  end
-- begin linear
  added = after - votes == 1 and 'VOTE_SCORE' or string.format('%d', (after - votes) * VOTE_SCORE)
-- end linear
-- begin decaying
  added = string.format('%d', worth(RANKING, after) - worth(RANKING, votes))
-- end decaying
  local score = call('ZADD', KEYS[5], 'XX', 'INCR', added, member)
  if not score then error('CORRUPT score of ' .. member, 0) end
  ranked[1] = KEYS[5]
  for i = stays and FIRST_LISTING - 1 or FIRST_LISTING, last_listing do
    local listing = i < FIRST_LISTING and KEYS[9] or KEYS[i]
    call('ZADD', listing, 'XX', 'INCR', added, member)
    ranked[#ranked + 1] = listing
  end

  local number = string.sub(member, 9)
  local votes_text, revision_text = string.format('%d', after), string.format('%d', revision + 1)
  local downvotes_text = downvotes_after == downvotes and hash[2] or string.format('%d', downvotes_after)
-- begin calendar
  local k, next_k = 11, last_listing + 1
  while k do
    if clock[1] and posted >= (clock[1] + 1) * 86400 then
      call('ZADD', KEYS[k + 1], votes_text, member)
      if not clock[2] or after > tonumber(clock[2]) then
        call('HSET', KEYS[k], peak_of, votes_text)
        raised[#raised + 1] = {KEYS[k], peak_of, clock[2]}
      end
    else
      -- define must_be_zset must_be_allowed calendar_at check_calendar schedule
      local calendar = calendar_at(k)
      check_calendar(calendar, k > 11 and KEYS[11])
      schedule(calendar, member, after)
    end
    k = nil
-- end calendar
-- begin group_top
    if next_k <= last_listing + 4 * (last_listing - FIRST_LISTING + 1) then
      k, next_k = next_k, next_k + 4
      clock = call('HMGET', KEYS[k], 'folded', peak_of)
    end
-- end group_top
-- begin calendar
  end
-- end calendar
-- begin cast
  local casts = hash[7] and (hash[7] == hash[1] and votes_text or string.format('%d', hash[7] + after - votes))
-- end cast
  call('HSET', article, 'votes', votes_text, 'downvotes', downvotes_text, 'revision', revision_text
-- begin cast
    , casts and 'cast' or 'votes', casts or votes_text
-- end cast
  )
  local kept = posted + WINDOW + MARGIN - now
  local low, high = 1000 * kept - 60000, 1000 * kept + 61000
  if voted_left < low or voted_left > high then call('EXPIRE', voted, math.ceil(kept)) end
  if downvoted_left and (downvoted_left < low or downvoted_left > high) then
    call('EXPIRE', downvoted, math.ceil(kept))
  end

  if interesting then
    -- define enter leave
    local change = after >= INTERESTING and enter or leave
    change(interesting, member, score, time)
  end

  if recorded then call('HSET', KEYS[7], voter, string.format('%d %.0f %s', position, now, ARGV[7])) end
  if first_record then call('EXPIRE', KEYS[7], math.ceil(kept)) end
-- begin cast
  local size = call('ZCARD', cast)
  if position ~= 0 then call('ZADD', cast, clock_time, position == 1 and number or '-' .. number) end
  if size == 0 and HISTORY > 0 then
    -- define cast_expiry
    call('EXPIRE', cast, cast_expiry(time, WINDOW, HISTORY, now))
  elseif size >= 10000 then -- 0 says that older votes are missing
    call('ZREMRANGEBYRANK', cast, 0, 99)
    call('ZADD', cast, clock_time, '0')
  end
  if up == 1 and position ~= 1 then call('ZREM', cast, number) end
  if down == 1 and position ~= -1 then call('ZREM', cast, '-' .. number) end
-- end cast
-- begin events
  told[1] = call('XADD', KEYS[17], 'MAXLEN', '~', EVENTS, '*', 'kind', 'voted', 'article', number,
    'revision', revision_text, 'votes', votes_text, 'downvotes', downvotes_text, 'score', score,
    'by', string.sub(voter, 6), 'to', string.sub(ARGV[6], 1, position == -1 and 2 or 1))
  for _, votes_wanted in ipairs(milestone and {MILESTONES} or {}) do
    if after >= votes_wanted and votes < votes_wanted and reached < votes_wanted then
      -- define tell
      reached = votes_wanted
      call('HSET', article, 'milestone', reached)
      told[#told + 1] = tell(KEYS[17], EVENTS, 'milestone', member, revision + 1, after, downvotes_after, score, voter, reached)
    end
  end
-- end events
  call(string.byte(KEYS[6]) == 123 and 'SPUBLISH' or 'PUBLISH', KEYS[6], 'voted ' .. member .. ' ' .. revision_text .. ' '
    .. votes_text .. ' ' .. downvotes_text .. ' ' .. score .. ' ' .. groups .. '\n' .. ARGV[6])
  return {'OK', after, downvotes_after, revision + 1, rest, old}
end

local ok, reply = pcall(vote)
if ok then return reply end

local function undo(...) redis.pcall(...) end -- of a command that was not run, it changes nothing or fails, too
local function restore(hash, field, text)
  if text then undo('HSET', hash, field, text) else undo('HDEL', hash, field) end
end
local member, number = ARGV[1], string.sub(ARGV[1], 9)
if changes then
  undo(up == 1 and 'SADD' or 'SREM', KEYS[2], voter)
  undo(down == 1 and 'SADD' or 'SREM', KEYS[3], voter)
-- begin cast
  if position ~= 0 then undo('ZREM', cast, position == 1 and number or '-' .. number) end
-- end cast
end
for i = 1, #ranked do undo('ZADD', ranked[i], 'XX', 'INCR', -added, member) end
if changes then
  restore(KEYS[1], 'votes', before[1])
  restore(KEYS[1], 'downvotes', before[2])
  restore(KEYS[1], 'revision', before[3])
-- begin cast
  restore(KEYS[1], 'cast', before[7])
-- end cast
-- begin calendar
  for i = 12, 14 do undo('ZADD', KEYS[i], 'XX', before[1] or '0', member) end
  for i = 1, #raised do restore(unpack(raised[i])) end
-- end calendar
-- begin group_top
  for i = last_listing + 1, last_listing + 4 * (last_listing - FIRST_LISTING + 1) do
    undo('ZADD', KEYS[i], 'XX', before[1] or '0', member) -- every fourth one is a clock
  end
-- end group_top
end
-- begin events
for i = 1, #told do undo('XDEL', KEYS[17], told[i]) end
if milestone then restore(KEYS[1], 'milestone', milestone ~= '0' and milestone) end
-- end events
return type(reply) == 'string' and {err = reply} or reply
