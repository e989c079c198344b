-- ranked.lua: read the best articles of a part of the calendar by a formula that rises with votes and falls with age, in
-- steps that each look at a bounded number of members.
--
-- uses rank_in formula place heap best page
-- KEY clock          clock: or clock:NAME  hash  the calendar's fold pointer and peaks; need not exist
-- KEY times          time:                 zset  posting times, Unix seconds
-- KEYS list          top:KIND:NUMBER       zset  the lists, which must have no article in common: by net votes, those
--                    that were posted in an hour, a day or 32 days; need not exist
-- ARG folded         the fold pointer as the caller expects it; empty: none
-- ARG first_day      day before which no article was posted, as the caller expects; empty if the lists do not rely on that
-- ARG formula        the formula: TOP, LINEAR, HALF_LIFE or GRAVITY
-- ARG parameter      its parameter: the worth of a vote in seconds, the half-life in seconds, or the gravity
-- ARG instant        the instant as of which articles are ranked, Unix seconds
-- ARG posted_from    posting time of the oldest articles to rank, Unix seconds; empty: of any age
-- ARG posted_before  posting time before which the newest articles to rank were posted, Unix seconds, up to instant + 1
-- ARG wanted         number of articles to reply
-- ARG after_key      key of the article to start after; empty: the best
-- ARG after_member   its member
-- ARG min_votes      net votes that articles need to be ranked; empty: any
-- ARG max_looked     number of members that may be looked at in this step; the step ends with the page of a list that exceeds it
-- ARG runs           the runs of consecutive lists in the order of their keys, three words for each: h, d or m; the
--                    number of the first; how many there are
-- ARGS place         where this step begins, none at the start: see place.lua
--
-- Replies {'OK', looked, key, member, ...}
--             the number of members that were looked at in this step; the articles, the best first, and those with one key
--             in descending order of the bytes of their members
--         {'MORE', looked, place}  call again, with the place
--         {'STALE', folded, first}  folded or first_day differs from these: call again, without a place. first is the
--             posting time of the oldest article, empty if the calendar has none
-- Safe to run twice: it changes nothing.
--
-- The articles of a list are read in the order of their votes. No unread one has a key above that of the next one's
-- votes and the list's latest time, the bound of the list. The list with the highest bound is read next, until that
-- is below the last key that is wanted.

posted_from, posted_before = tonumber(posted_from) or -math.huge, tonumber(posted_before)
wanted, max_looked = tonumber(wanted), tonumber(max_looked)
after_key, min_votes = tonumber(after_key) or math.huge, tonumber(min_votes) or -math.huge
local floor, max, min = math.floor, math.max, math.min
local first_second, last_second = floor(posted_from), math.ceil(posted_before) - 1
local key_of, shift_of, votes_for = formula_of(formula, tonumber(parameter), tonumber(instant))
local is_sorted = formula == 'TOP' -- a list has the order of the ranking
local best, known, places = read_place(first_place)

-- By the numbers of lists: the field of the peak, the times of posting that are ranked, and whether the list has others.
local fields, oldest, newest, clipped = {}, {}, {}, {}
local seconds = {h = 3600, d = 86400, m = 86400 * 32}
for kind, first, count in string.gmatch(runs, '(%a) (%-?%d+) (%d+)') do
  local length, prefix = seconds[kind], 'p:' .. kind .. ':'
  for n = tonumber(first), first + count - 1 do
    local number = #fields + 1
    local from, to = n * length, (n + 1) * length - 1
    if from < posted_from or to >= posted_before then clipped[number] = true end
    fields[number], oldest[number], newest[number] = prefix .. n, max(from, first_second), min(to, last_second)
  end
end
fields[#fields + 1] = 'folded'
local peaks = redis.call('HMGET', clock, unpack(fields))
local now_folded = peaks[#fields] or ''
if now_folded ~= folded or first_day ~= '' then
  local first = redis.call('EXISTS', clock) == 1 and redis.call('ZRANGE', times, 0, 0, 'WITHSCORES')[2]
  if now_folded ~= folded or first and tonumber(first) < first_day * 86400 then return {'STALE', now_folded, first or ''} end
end

local heap, bound, shifts = {}, {}, {}
for number = 1, #oldest do
  local peak = tonumber(peaks[number] or nil) -- a list without a peak is empty
  if peak and places[number] then peak = places[number].votes end
  if peak and peak >= min_votes then
    heap[#heap + 1], shifts[number] = number, shift_of(newest[number])
    bound[number] = min(key_of(peak, shifts[number]), after_key)
  end
end
for at = floor(#heap / 2), 1, -1 do sift(heap, bound, at) end

-- skipped returns how many articles of a list were read by an earlier step, or certainly come before the cursor: false if all.
local looked = 0
local function skipped(number, key)
  local place = places[number] or is_sorted and after_key < math.huge and {votes = after_key, member = after_member}
  if place then
    local rank, _, compared = rank_in(key, true, string.format('%.17g', place.votes), place.member)
    looked = looked + compared
    return rank
  end
  if after_key == math.huge then return 0 end
  looked = looked + 1
  -- With these votes or more, even the oldest one comes before.
  local shift, peak = shift_of(oldest[number]), tonumber(peaks[number])
  local enough, step = floor(votes_for(after_key - shift)), 1
  if enough < -1e15 then return false end
  while enough <= peak do
    if key_of(enough, shift) > after_key then return redis.call('ZCOUNT', key, string.format('%.17g', enough), '+inf') end
    enough, step = enough + step, 2 * step
  end
  return 0
end

local lists = {} -- those that are read, by number
local ended = {} -- the place and the page of a list without more articles
local has_progress = false -- whether the next step has less to do
while #heap > 0 do
  local number, last = heap[1], best[wanted]
  local list = lists[number]
  if last and bound[number] < last.key then break end
  if has_progress and looked >= max_looked then return {'MORE', looked, write_place(best, places, heap, lists)} end
  has_progress = has_progress or list or not places[number]
  local is_done = list and is_sorted and last and not is_before(bound[number], list.member, last.key, last.member)
  local needs_times = not is_sorted or clipped[number]
  if list and not is_done then
    local member, time = list.member, newest[number]
    if needs_times then time = tonumber(list.posted[(list.at + 1) / 2] or nil) or math.huge end
    if time >= posted_from and time < posted_before then
      local key = key_of(list.votes, shift_of(time))
      if after_key == math.huge or is_before(after_key, after_member, key, member) then
        looked = looked + keep_best(best, known, wanted, key, member, list.votes)
      end
    end
  end
  if not is_done then
    local list_key = KEYS[first_list + number - 1]
    if not list then
      list = {rank = skipped(number, list_key), size = 0, page = ended, at = -1, posted = false, member = false, votes = 0}
      lists[number] = list
    end
    looked = looked + next_in(list, list_key, needs_times and times)
    is_done = not list.member or list.votes < min_votes
  end
  if is_done then
    places[number] = ended
    drop_top(heap, bound)
  else
    bound[number] = min(key_of(list.votes, shifts[number]), after_key)
    sift(heap, bound, 1)
  end
end

local reply = {'OK', looked}
for _, article in ipairs(best) do
  reply[#reply + 1] = article.key
  reply[#reply + 1] = article.member
end
return reply
