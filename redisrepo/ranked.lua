-- ranked.lua: read the best articles of a part of the calendar by a formula that rises with votes and falls with age.
--
-- KEYS[1]    clock: or clock:NAME  hash  the calendar's fold pointer and peaks; need not exist
-- KEYS[2]    time:                 zset  posting times, Unix seconds; those of legacy clients have fractions
-- KEYS[3]    score:                zset  the ranking, Unix seconds
-- KEYS[4...] top:KIND:NUMBER       zset  the lists, which must have no article in common: by net votes, those that were
--            posted in an hour, a day or 32 days; need not exist
-- ARGV[1]  the fold pointer as the caller expects it; empty: none
-- ARGV[2]  day before which no article was posted, as the caller expects; empty if the lists do not rely on that
-- ARGV[3]  the formula: TOP, LINEAR, HALF_LIFE or GRAVITY
-- ARGV[4]  its parameter: the worth of a vote in seconds, the half-life in seconds, or the gravity
-- ARGV[5]  the instant as of which articles are ranked, Unix seconds
-- ARGV[6]  posting time of the oldest articles to rank, Unix seconds; empty: of any age
-- ARGV[7]  posting time of the newest articles to rank, Unix seconds, up to ARGV[5]
-- ARGV[8]  number of articles to reply
-- ARGV[9]  key of the article to start after; empty: the best
-- ARGV[10] its member
-- ARGV[11] net votes that articles need to be ranked; empty: any
-- ARGV[12] worth of a vote in score:, seconds, if legacy clients may vote; empty if not
-- ARGV[13] number of articles that may be looked at
-- ARGV[14...] three for each run of consecutive lists, in the order of their keys: h, d or m; the number of the first;
--             how many there are
--
-- Replies {'OK', looked, behind, key, member, ...}
--             the number of articles that were looked at; a list of the members whose votes differ from their scores,
--             since a legacy client voted, each with its posting time; the articles, the best first, and those with one key in descending order of
--             the bytes of their members
--         {'STALE', folded, first}  ARGV[1] or ARGV[2] differs from these: call again. first is the posting time of the
--             oldest article, empty for none
--         {'TOO_MANY'}  more articles than ARGV[13] would have to be looked at
-- Safe to run twice: it changes nothing.
--
-- The key of an article is weight(votes) + shift(posting time), a whole number: with fractions, two servers could
-- differ in the last bit of a logarithm, and a cursor would miss an article.
-- The articles of a list are read in the order of their votes. No unread one has a key above that of the next one's
-- votes and the list's latest time, the bound of the list. The list with the highest bound is read next, until that
-- is below the last key that is wanted.

local clock, times, scores = KEYS[1], KEYS[2], KEYS[3]
local folded, first_day, formula, parameter = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local instant, low, high = tonumber(ARGV[5]), tonumber(ARGV[6]) or -math.huge, tonumber(ARGV[7])
local wanted, after_key, after_member = tonumber(ARGV[8]), tonumber(ARGV[9]) or math.huge, ARGV[10]
local least, vote_score, most = tonumber(ARGV[11]) or -math.huge, tonumber(ARGV[12]), tonumber(ARGV[13])
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
  local ranking = 'halflife ' .. ARGV[4]
  weight = function(votes) return worth(ranking, votes) end
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

-- The lists that have articles, their times within the span, and the bounds of their keys.
local list_keys, list_peak, list_low, list_shift, bound, partial = {}, {}, {}, {}, {}, {}
local fields, starts, lengths = {'folded'}, {}, {}
local unit = {h = 3600, d = 86400, m = 86400 * 32}
for i = 14, #ARGV, 3 do
  local kind, number, length = ARGV[i], tonumber(ARGV[i + 1]), unit[ARGV[i]]
  local prefix = 'p:' .. kind .. ':'
  for n = number, number + tonumber(ARGV[i + 2]) - 1 do
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
for i = 4, #KEYS do
  local peak = tonumber(peaks[i - 2] or nil) -- a list without one is empty
  if peak and peak >= least then
    local start, n = starts[i - 3], #list_keys + 1
    local last = start + lengths[i - 3] - 1
    list_keys[n], list_peak[n] = KEYS[i], peak
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

-- skipped returns how many articles of a list certainly come before the cursor or are its article.
local function skipped(list)
  local key = list_keys[list]
  if after_key == math.huge then return 0 end
  if exact then
    local from = redis.call('ZCOUNT', key, string.format('(%.17g', after_key), '+inf')
    local to = redis.call('ZCOUNT', key, string.format('%.17g', after_key), '+inf')
    while from < to do -- among those with the same votes
      local middle = floor((from + to) / 2)
      local member = redis.call('ZRANGE', key, middle, middle, 'REV')[1]
      if is_before(after_key, after_member, after_key, member) then to = middle else from = middle + 1 end
    end
    return from
  end
  -- With these votes or more, even the oldest one comes before.
  local oldest = shift(list_low[list])
  local enough, step = floor(votes_for(after_key - oldest)), 1
  while enough <= list_peak[list] and enough >= -1e15 do
    if key_of(enough, oldest) > after_key then return redis.call('ZCOUNT', key, string.format('%.17g', enough), '+inf') end
    enough, step = enough + step, 2 * step
  end
  return enough < -1e15 and redis.call('ZCARD', key) or 0
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

local keys, members, counts, looked = {}, {}, {}, 0
local function offer(key, member, votes)
  if after_key < math.huge and not is_before(after_key, after_member, key, member) then return end
  local at = #keys
  if at == wanted then
    if not is_before(key, member, keys[at], members[at]) then return end
    at = at - 1
  end
  while at > 0 and is_before(key, member, keys[at], members[at]) do
    keys[at + 1], members[at + 1], counts[at + 1] = keys[at], members[at], counts[at]
    at = at - 1
  end
  keys[at + 1], members[at + 1], counts[at + 1] = key, member, votes
end

while #heap > 0 do
  local list = heap[1]
  local page, place = pages[list], places[list]
  if #keys == wanted and bound[list] < keys[wanted] then break end
  if not page then
    if next_of(list) then sift(1) else drop_best() end
  elseif exact and #keys == wanted and not is_before(bound[list], page[place], keys[wanted], members[wanted]) then
    drop_best()
  else
    looked = looked + 1
    if looked > most then return {'TOO_MANY'} end
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
