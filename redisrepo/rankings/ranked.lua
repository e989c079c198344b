-- ranked.lua: read the best articles of a part of the calendar by a formula that rises with votes and falls with age, in
-- steps that each look at a bounded number of members.
--
-- uses by_bytes worth
-- KEY clock         clock: or clock:NAME  hash  the calendar's fold pointer and peaks; need not exist
-- KEY times         time:                 zset  posting times, Unix seconds; those of legacy clients have fractions
-- KEY scores        score:                zset  the ranking, Unix seconds
-- KEYS list         top:KIND:NUMBER       zset  the lists, which must have no article in common: by net votes, those
--                   that were posted in an hour, a day or 32 days; need not exist
-- ARG folded        the fold pointer as the caller expects it; empty: none
-- ARG first_day     day before which no article was posted, as the caller expects; empty if the lists do not rely on that
-- ARG formula       the formula: TOP, LINEAR, HALF_LIFE or GRAVITY
-- ARG parameter     its parameter: the worth of a vote in seconds, the half-life in seconds, or the gravity
-- ARG instant       the instant as of which articles are ranked, Unix seconds
-- ARG low           posting time of the oldest articles to rank, Unix seconds; empty: of any age
-- ARG high          posting time of the newest articles to rank, Unix seconds, up to instant
-- ARG wanted        number of articles to reply
-- ARG after_key     key of the article to start after; empty: the best
-- ARG after_member  its member
-- ARG least         net votes that articles need to be ranked; empty: any
-- ARG vote_score    worth of a vote in score:, seconds, if legacy clients may vote; empty if not
-- ARG allowed       number of members that may be looked at in this step; the step ends with the page of a list that exceeds it
-- ARG runs          the runs of consecutive lists in the order of their keys, three words for each: h, d or m; the
--                   number of the first; how many there are
-- ARGS place        four words for each article that is to be left out: -1, nothing, its member, and nothing; then the place
--                   that the step before replied, or that begins with articles which are no list's
--
-- Replies {'OK', looked, behind, key, member, ...}
--             the number of members that were looked at in this step; a list of the members whose votes differ from their
--             scores, since a legacy client voted, each with its posting time; the articles, the best first, and those
--             with one key in descending order of the bytes of their members
--         {'MORE', looked, place}  call again, with the place. It has four elements for each article that may be among
--             the best: 0, its votes, its member, its key; and for each list that was read: its number, votes and member
--             of the article where reading goes on, empty if the list was read to its end, and an empty text
--         {'STALE', folded, first}  folded or first_day differs from these: call again, without a place. first is the
--             posting time of the oldest article, empty for none
-- Safe to run twice: it changes nothing.
--
-- The key of an article is weight(votes) + shift(posting time), a whole number: with fractions, two servers could
-- differ in the last bit of a logarithm, and a cursor would miss an article.
-- The articles of a list are read in the order of their votes. No unread one has a key above that of the next one's
-- votes and the list's latest time, the bound of the list. The list with the highest bound is read next, until that
-- is below the last key that is wanted.
-- A place has votes and members instead of ranks, which other articles' votes change: every article whose own votes do
-- not change between two steps is read once. known keeps out an article whose votes have fallen meanwhile.

first_day, parameter, instant = tonumber(first_day), tonumber(parameter), tonumber(instant)
low, high, wanted = tonumber(low) or -math.huge, tonumber(high), tonumber(wanted)
after_key, least, vote_score = tonumber(after_key) or math.huge, tonumber(least) or -math.huge, tonumber(vote_score)
allowed = tonumber(allowed)
local floor, log, min = math.floor, math.log, math.min

-- weight and shift are the two parts of a key. votes_for is the inverse of weight, up to rounding.
local weight = function(votes) return votes end
local votes_for = weight
local shift = function(time) return time end
local exact = formula == 'TOP' -- a list has the order of the ranking
if exact then
  shift = function() return 0 end
elseif formula == 'LINEAR' then
  weight = function(votes) return votes * parameter end
  votes_for = function(seconds) return seconds / parameter end
elseif formula == 'HALF_LIFE' then
  local ranking = 'halflife ' .. parameter
  local weights = {} -- most articles have few votes
  weight = function(votes)
    weights[votes] = weights[votes] or worth(ranking, votes)
    return weights[votes]
  end
  votes_for = function(seconds) return (2 ^ math.abs(seconds / parameter) - 1) * (seconds < 0 and -1 or 1) end
elseif formula == 'GRAVITY' then
  weight = function(votes) return votes > 1 and 1e6 * log(votes - 1) or 1e8 * (votes - 2) end
  votes_for = function(logarithm) return logarithm > 0 and math.exp(logarithm / 1e6) + 1 or logarithm / 1e8 + 2 end
  shift = function(time) return -1e6 * parameter * log((instant - time) / 3600 + 2) end
end
local rounds = formula == 'GRAVITY'
local function key_of(votes, shifted)
  local key = weight(votes) + shifted
  return rounds and floor(key + 0.5) or key
end

-- The best articles so far, and where lists go on: see the reply MORE.
local keys, members, counts, known, hidden, looked = {}, {}, {}, {}, {}, 0
local place_of = {}
for i = first_place, #ARGV, 4 do
  local list, votes, member = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), ARGV[i + 2]
  if list == -1 then
    hidden[member] = true
  elseif list == 0 then
    keys[#keys + 1], members[#members + 1], counts[#counts + 1], known[member] = tonumber(ARGV[i + 3]), member, votes, true
  else
    place_of[list] = {votes = votes, member = member}
  end
end

-- The lists that have articles, their numbers, their times within the span, and the bounds of their keys.
local list_keys, numbers, list_peak, list_low, list_shift, bound, partial = {}, {}, {}, {}, {}, {}, {}
local fields, starts, lengths = {'folded'}, {}, {}
local unit = {h = 3600, d = 86400, m = 86400 * 32}
for kind, number, count in string.gmatch(runs, '(%a) (%-?%d+) (%d+)') do
  local length, prefix = unit[kind], 'p:' .. kind .. ':'
  for n = tonumber(number), number + count - 1 do
    fields[#fields + 1] = prefix .. n
    starts[#starts + 1], lengths[#lengths + 1] = n * length, length
  end
end
local peaks = redis.call('HMGET', clock, unpack(fields))
if (peaks[1] or '') ~= folded or first_day then
  local first = redis.call('ZRANGE', times, 0, 0, 'WITHSCORES')[2]
  if (peaks[1] or '') ~= folded or first and tonumber(first) < first_day * 86400 then
    return {'STALE', peaks[1] or '', first or ''}
  end
end
for i = 1, #starts do
  local peak, place = tonumber(peaks[i + 1] or nil), place_of[i] -- a list without a peak is empty
  if place then peak = peak and place.votes end
  if peak and peak >= least then
    local start, n = starts[i], #list_keys + 1
    local last = start + lengths[i] - 1
    list_keys[n], numbers[n], list_peak[n] = KEYS[first_list + i - 1], i, peak
    partial[n] = start < low or last > high
    list_low[n], list_shift[n] = start < low and low or start, shift(min(last, high))
    bound[n] = min(key_of(peak, list_shift[n]), after_key)
  end
end

-- heap has the lists, the one with the highest bound first.
local heap = {}
local function sift(at)
  local size, list = #heap, heap[at]
  local key = bound[list]
  while 2 * at <= size do
    local child = 2 * at
    if child < size and bound[heap[child + 1]] > bound[heap[child]] then child = child + 1 end
    if bound[heap[child]] <= key then break end
    heap[at] = heap[child]
    at = child
  end
  heap[at] = list
end
local function drop_best()
  place_of[numbers[heap[1]]] = {}
  local last = table.remove(heap)
  if #heap > 0 then
    heap[1] = last
    sift(1)
  end
end
for i = 1, #list_keys do heap[i] = i end
for i = floor(#heap / 2), 1, -1 do sift(i) end

-- is_before is the order of the ranking.
local function is_before(key, member, other_key, other_member)
  return key > other_key or key == other_key and member ~= other_member and by_bytes(other_member, member)
end

-- rank_after returns how many articles of a list come before a member with some votes, or where it would be. They are in
-- descending order of votes, and of the bytes of their members.
local function rank_after(list, votes, member)
  looked = looked + 2
  local rank = redis.call('ZREVRANK', list_keys[list], member)
  if rank and tonumber(redis.call('ZSCORE', list_keys[list], member)) == votes then return rank end
  local exactly = string.format('%.17g', votes)
  local from = redis.call('ZCOUNT', list_keys[list], '(' .. exactly, '+inf')
  local to = redis.call('ZCOUNT', list_keys[list], exactly, '+inf')
  while from < to do
    looked = looked + 1
    local middle = floor((from + to) / 2)
    if by_bytes(redis.call('ZRANGE', list_keys[list], middle, middle, 'REV')[1], member) then to = middle else from = middle + 1 end
  end
  return from
end

-- skipped returns how many articles of a list were read by an earlier step, or certainly come before the cursor.
local function skipped(list)
  local place = place_of[numbers[list]]
  if place then return rank_after(list, place.votes, place.member) end
  if after_key == math.huge then return 0 end
  if exact then return rank_after(list, after_key, after_member) end
  looked = looked + 1
  -- With these votes or more, even the oldest one comes before.
  local oldest = shift(list_low[list])
  local enough, step = floor(votes_for(after_key - oldest)), 1
  while enough <= list_peak[list] and enough >= -1e15 do
    if key_of(enough, oldest) > after_key then return redis.call('ZCOUNT', list_keys[list], string.format('%.17g', enough), '+inf') end
    enough, step = enough + step, 2 * step
  end
  return enough < -1e15 and redis.call('ZCARD', list_keys[list]) or 0
end

-- next_of moves to the next article of a list and sets its bound. It returns false at the list's end.
local pages, sizes, places, ranks, posted = {}, {}, {}, {}, {}
local function next_of(list)
  local page, place = pages[list], (places[list] or -1) + 2
  if not page or place > #page then
    local size = sizes[list] or 2
    if page and #page < 2 * size then return false end
    local from = page and ranks[list] + size or skipped(list)
    size = page and min(2 * size, 64) or 4
    page = redis.call('ZRANGE', list_keys[list], from, from + size - 1, 'REV', 'WITHSCORES')
    looked = looked + #page / 2
    if #page == 0 then return false end
    if not exact or partial[list] then
      local members = {}
      for i = 1, #page, 2 do members[#members + 1] = page[i] end
      posted[list] = redis.call('ZMSCORE', times, unpack(members))
    end
    pages[list], sizes[list], ranks[list], place = page, size, from, 1
  end
  places[list] = place
  local votes = tonumber(page[place + 1])
  bound[list] = min(key_of(votes, list_shift[list]), after_key)
  return votes >= least
end

local function offer(key, member, votes)
  if known[member] or hidden[member] or after_key < math.huge and not is_before(after_key, after_member, key, member) then return end
  local size = #keys
  if size == wanted then
    if not is_before(key, member, keys[size], members[size]) then return end
    known[members[size]] = nil
    keys[size], members[size], counts[size] = nil, nil, nil
    size = size - 1
  end
  -- Equal keys are compared by bytes, which takes many times as long as moving an article.
  local from, to = 1, size + 1
  while from < to do
    local middle = floor((from + to) / 2)
    if is_before(key, member, keys[middle], members[middle]) then to = middle else from = middle + 1 end
  end
  table.insert(keys, from, key)
  table.insert(members, from, member)
  table.insert(counts, from, votes)
  known[member] = true
  looked = looked + floor((size + 1 - from) / 16) -- moving so many takes as long
end

local moved = false -- whether the next step has less to do
while #heap > 0 do
  local list = heap[1]
  local page, place = pages[list], places[list]
  if #keys == wanted and bound[list] < keys[wanted] then break end
  if moved and looked >= allowed then
    local reply = {}
    local function add(...)
      for _, value in ipairs({...}) do reply[#reply + 1] = value end
    end
    for i = 1, #keys do add(0, counts[i], members[i], keys[i]) end
    for _, read in ipairs(heap) do
      local from = pages[read] and places[read]
      if from then place_of[numbers[read]] = {votes = pages[read][from + 1], member = pages[read][from]} end
    end
    for number, place in pairs(place_of) do add(number, place.votes or '', place.member or '', '') end
    return {'MORE', looked, reply}
  end
  moved = moved or page or not place_of[numbers[list]]
  if not page then
    if next_of(list) then sift(1) else drop_best() end
  elseif exact and #keys == wanted and not is_before(bound[list], page[place], keys[wanted], members[wanted]) then
    drop_best()
  else
    local member, votes = page[place], tonumber(page[place + 1])
    if exact and not partial[list] then
      offer(votes, member, votes)
    else
      local time = tonumber(posted[list][(place + 1) / 2] or nil)
      time = time and floor(time)
      if time and time >= low and time <= high then offer(key_of(votes, shift(time)), member, votes) end
    end
    if next_of(list) then sift(1) else drop_best() end
  end
end

local behind = {}
if vote_score and #members > 0 then
  local scored, at = redis.call('ZMSCORE', scores, unpack(members)), redis.call('ZMSCORE', times, unpack(members))
  for i = 1, #members do
    local score, time = tonumber(scored[i] or nil), tonumber(at[i] or nil)
    if score and time and floor((score - time) / vote_score + 0.5) ~= counts[i] then
      behind[#behind + 1], behind[#behind + 2] = members[i], at[i]
    end
  end
end
local reply = {'OK', looked, behind}
for i = 1, #keys do reply[2 + 2 * i], reply[3 + 2 * i] = keys[i], members[i] end
return reply
