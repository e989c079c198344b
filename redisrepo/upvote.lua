-- upvote.lua: count one user's upvote on an article. It does what vote.lua does for the most frequent votes, in less time.
-- If anything is unusual, it replies FULL, and has changed nothing.
--
-- KEYS[1]   article:ID    hash     the article
-- KEYS[2]   voted:ID      set      the upvoters
-- KEYS[3]   score:        zset     the ranking, Unix seconds
-- KEYS[4]   changes:      channel  on which the change is published
-- KEYS[5]   clock:        hash     fold pointer and peaks of the calendar, and the last hour with a front page
-- KEYS[6]   top:h:HOUR    zset     articles by net votes, of the hour of posting
-- KEYS[7]   events:       stream   the change feed
-- KEYS[8]   group:interesting  set  the interesting articles
-- KEYS[9]   score:interesting  zset its listing by score; need not exist
-- KEYS[10...] score:NAME  zset     of each name in ARGV[2], its listing by score; need not exist. Then, with group_top,
--           clock:NAME and top:h:HOUR:NAME of each. Then, with cast, cast:USER:MONTH, a zset: what the voter voted on
--           among the articles of that month
-- ARGV[1]   the article's member
-- ARGV[2]   its groups: sorted names, separated by spaces
-- ARGV[3]   its posting time, as the hash has it
-- ARGV[4]   its title
-- ARGV[5]   the voter's member; not the article's poster
-- ARGV[6]   now, Unix seconds; missing: the server's clock
--
-- Replies {'OK', votes, downvotes, revision, rest, before}
--                   the numbers after the vote, 0, and the position before, 1 or 0, as vote.lua replies them
--         {'FULL'}  call vote.lua: the article differs from ARGV[2] to [4] or is deleted, is a legacy client's, has
--                   downvotes, or becomes interesting; voting is closed; the voters' expiry is to be set; the calendar
--                   of the day is folded; the votes reach a milestone; or a front page is to be saved
-- votingText in scripts.go puts in the values of the rules and leaves out blocks, as for vote.lua. REACHES is whether
-- the votes reach a milestone.
-- Safe to run twice: the second run finds the vote and changes nothing.
--
-- What was done is undone when a command fails.

local last_listing = #KEYS
-- begin cast
last_listing = last_listing - 1
-- end cast
-- begin group_top
last_listing = FIRST_LISTING - 1 + (last_listing - FIRST_LISTING + 1) / 3
-- end group_top
local before, is_added, added, ranked, told = nil, false, nil, 0, nil
local first_listing = FIRST_LISTING
-- begin calendar
local raised = nil -- clocks with the field of a peak, and what it was
-- end calendar

local function vote()
  local KEYS, ARGV, call = KEYS, ARGV, redis.call
  local article, voted, scores, member, voter = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[5]
  local hash = call('HMGET', article, 'votes', 'downvotes', 'revision', 'groups', 'title', 'time'
-- begin cast
    , 'cast'
-- end cast
  )
  local groups, time = hash[4], hash[6]
  if time ~= ARGV[3] or groups ~= ARGV[2] or hash[5] ~= ARGV[4] or hash[2] ~= '0' then return {'FULL'} end
  local votes, revision = hash[1] + 1, hash[3] + 1
  if votes == INTERESTING or REACHES or (votes + revision) % 1 > 0 then return {'FULL'} end
  if votes > INTERESTING then
    if call('SISMEMBER', KEYS[FIRST_LISTING - 2], member) == 0 then return {'FULL'} end
    first_listing = FIRST_LISTING - 1
  end
  local now = ARGV[6] or call('TIME')[1]
  local left = time + WINDOW - now
  if left < 0 then return {'FULL'} end
  local drift = call('PTTL', voted) - 1000 * (left + MARGIN)
  if drift < -60000 or drift > 61000 then return {'FULL'} end
-- begin calendar
  local peak_of = 'p:' .. string.sub(KEYS[6], #KEYS[5] - 1) -- what precedes the unit is 2 shorter than clock: and its tag
  local clock = call('HMGET', KEYS[5], 'folded', peak_of, 'front')
  local saved = clock[3]
  if not clock[1] or time - 86400 < clock[1] * 86400 then return {'FULL'} end
-- end calendar
-- begin front_alone
  local saved = call('HGET', KEYS[5], 'front')
-- end front_alone
-- begin front
  if not saved or now - 3600 >= saved * 3600 then return {'FULL'} end
-- end front
-- begin cast
  local cast = KEYS[#KEYS]
  local size = call('ZCARD', cast)
  if size >= 10000 then return {'FULL'} end
-- end cast
-- begin group_top
  local peaks = {}
  for k = last_listing + 1, 3 * last_listing - 2 * FIRST_LISTING + 2, 2 do
    local its = call('HMGET', KEYS[k], 'folded', peak_of)
    if not its[1] or time - 86400 < its[1] * 86400 then return {'FULL'} end
    peaks[k] = its[2]
  end
-- end group_top

  before = hash
  if call('SADD', voted, voter) == 0 then
    return call('ZSCORE', scores, member) and {'OK', votes - 1, 0, revision - 1, 0, 1} or {'FULL'}
  end
  is_added = true
-- begin linear
  added = 'VOTE_SCORE'
-- end linear
-- begin decaying
  added = string.format('%d', worth(RANKING, votes) - worth(RANKING, votes - 1))
-- end decaying
  local score = call('ZADD', scores, 'XX', 'INCR', added, member)
  if not score then
    call('SREM', voted, voter)
    return {'FULL'}
  end
  ranked = 3
  for i = first_listing, last_listing do
    call('ZADD', KEYS[i], 'XX', 'INCR', added, member)
    ranked = i
  end
  local number, votes_text, revision_text = string.sub(member, 9), string.format('%d', votes), string.format('%d', revision)
-- begin calendar
  call('ZADD', KEYS[6], votes_text, member)
  if not clock[2] or votes > clock[2] + 0 then
    call('HSET', KEYS[5], peak_of, votes_text)
    raised = {{KEYS[5], peak_of, clock[2]}}
  end
-- end calendar
-- begin group_top
  for k = last_listing + 1, 3 * last_listing - 2 * FIRST_LISTING + 2, 2 do
    call('ZADD', KEYS[k + 1], votes_text, member)
    if not peaks[k] or votes > peaks[k] + 0 then
      call('HSET', KEYS[k], peak_of, votes_text)
      raised = raised or {}
      raised[#raised + 1] = {KEYS[k], peak_of, peaks[k]}
    end
  end
-- end group_top
-- begin cast
  local casts = hash[7] and (hash[7] == hash[1] and votes_text or string.format('%d', hash[7] + 1))
  call('ZADD', cast, now, number)
  if size == 0 and HISTORY > 0 then
    -- define cast_expiry
    call('EXPIRE', cast, cast_expiry(time, WINDOW, HISTORY, now))
  end
-- end cast
  call('HSET', article, 'votes', votes_text, 'revision', revision_text
-- begin cast
    , casts and 'cast' or 'votes', casts or votes_text
-- end cast
  )
-- begin events
  told = call('XADD', KEYS[7], 'MAXLEN', '~', EVENTS, '*', 'kind', 'voted', 'article', number, 'revision', revision_text,
    'votes', votes_text, 'downvotes', '0', 'score', score, 'by', string.sub(voter, 6), 'to', '1')
-- end events
  call(string.byte(KEYS[4]) == 123 and 'SPUBLISH' or 'PUBLISH', KEYS[4], 'voted ' .. member .. ' ' .. revision_text .. ' '
    .. votes_text .. ' 0 ' .. score .. ' ' .. groups .. '\n1 ' .. voter)
  return {'OK', votes, 0, revision, 0, 0}
end

local ok, reply = pcall(vote)
if ok then return reply end
if not is_added then return {'FULL'} end -- vote.lua says what is wrong

local function undo(...) redis.pcall(...) end -- of a command that was not run, it changes nothing or fails, too
local function restore(hash, field, text)
  if text then undo('HSET', hash, field, text) else undo('HDEL', hash, field) end
end
local member = ARGV[1]
undo('SREM', KEYS[2], ARGV[5])
if ranked > 0 then undo('ZADD', KEYS[3], 'XX', 'INCR', -added, member) end
for i = first_listing, ranked do undo('ZADD', KEYS[i], 'XX', 'INCR', -added, member) end
undo('HSET', KEYS[1], 'votes', before[1], 'revision', before[3])
-- begin cast
restore(KEYS[1], 'cast', before[7])
undo('ZREM', KEYS[#KEYS], string.sub(member, 9))
-- end cast
-- begin calendar
undo('ZADD', KEYS[6], 'XX', before[1], member)
for i = 1, raised and #raised or 0 do restore(unpack(raised[i])) end
-- end calendar
-- begin group_top
for i = last_listing + 2, #KEYS, 2 do undo('ZADD', KEYS[i], 'XX', before[1], member) end
-- end group_top
-- begin events
if told then undo('XDEL', KEYS[7], told) end
-- end events
return type(reply) == 'string' and {err = reply} or reply
