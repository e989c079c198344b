-- listing.lua: read a page of a listing, by rank or by cursors, or the ranks of cursors. The listing of a small group is
-- built if it does not exist; that of a large one is begun, and gather.lua builds it.
--
-- uses by_bytes rank_in building refresh
-- KEY listing        the listing      zset  of all articles, of one poster, or of a group
-- KEY [group]        group:NAME       set   the group's articles; only the listing of a group has this key and the next
-- KEY [ranking]      score: or time:  zset  the ranking of all articles in the same order
-- KEY [views]        views:           hash    how far the views have the log; only a listing that follows the log has this and the next
-- KEY [events]       events:          stream  the log
-- ARG reverse        REV for the highest first, or empty
-- ARG max_articles   maximum number of articles to reply
-- ARG last           FIRST or LAST: which of the articles between the cursors are replied
-- ARG skip           articles to skip at the start of the listing; 0 with cursors
-- ARG after_score    score of the cursor to start after, or empty
-- ARG after_member   its member, which need not be in the listing
-- ARG before_score   score of the cursor to end before, or empty
-- ARG before_member  its member, which need not be in the listing
-- ARG ttl            how long a small group's listing is kept after its last use, milliseconds
-- ARG max_small      the number of articles up to which a group is small
-- ARG seen           an entry of the log that the caller has seen the listing to have, or empty
-- ARG max_lacking    the number of entries of the log from which on a listing is not given what it lacks
-- ARGS cursor        score and member of each cursor whose rank is wanted instead of a page
--
-- Replies {rank of the first article replied, size of the listing, member, score, ..., number of entries of the log that it lacked,
--         the last of them or seen}
--         or, if ranks are wanted, {number of articles before each cursor, ...}
--         or the error BUILDING: call gather.lua until the listing is complete, and again
--         or the error BEHIND: apply the log to the views, and call again
-- Safe to run twice: it changes only what can be rebuilt. While Redis refuses writes, it computes the listing of
-- a small group without storing it, reads that of a large group as it is, and fails for a large group without a listing.

reverse, max_articles, last, skip, ttl = reverse == 'REV', tonumber(max_articles), last == 'LAST', tonumber(skip), tonumber(ttl)
max_small = tonumber(max_small)

local size = redis.call('ZCARD', listing)
local computed -- {member, score, ...} in ascending order: the listing, if it cannot be stored
local lacking = 0

local function range(first, last)
  if computed then
    local page = {}
    for i = first, last do
      local at = 2 * (reverse and size - 1 - i or i)
      page[#page + 1], page[#page + 2] = computed[at + 1], computed[at + 2]
    end
    return page
  end
  if reverse then return redis.call('ZRANGE', listing, first, last, 'REV', 'WITHSCORES') end
  return redis.call('ZRANGE', listing, first, last, 'WITHSCORES')
end

-- rank_of returns how many members come before a cursor, and 1 if the cursor's member is in the listing with that score, else 0.
local function rank_of(score, member)
  if not computed then return rank_in(listing, reverse, score, member) end
  local low, high = 0, size
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = range(middle, middle)
    local difference = tonumber(other[2]) - tonumber(score)
    if difference == 0 and other[1] == member then return middle, 1 end
    local is_less = difference < 0 or difference == 0 and by_bytes(other[1], member)
    if is_less ~= reverse then low = middle + 1 else high = middle end
  end
  return low, 0
end

local function read()
  if #ARGV >= first_cursor then
    local ranks = {}
    for i = first_cursor, #ARGV, 2 do ranks[#ranks + 1] = rank_of(ARGV[i], ARGV[i + 1]) end
    return ranks
  end
  local start, stop = skip, size
  if after_score ~= '' then
    local rank, itself = rank_of(after_score, after_member)
    start = rank + itself
  end
  if before_score ~= '' then stop = rank_of(before_score, before_member) end
  if last then start = math.max(start, stop - max_articles) else stop = math.min(stop, start + max_articles) end
  local page = start < stop and range(start, stop - 1) or {}
  table.insert(page, 1, size)
  table.insert(page, 1, start)
  page[#page + 1] = lacking
  page[#page + 1] = seen
  return page
end

if not group then return read() end

-- The listing of a small group expires, that of a large one does not: deleting it would take long. The store in memory keeps
-- an empty listing, which Redis does not: it is like none. The expiry is renewed at most once a second, so that frequent
-- reads do not cause as many writes. If Redis refuses to change it, it stays as it is.
local left = size > 0 and redis.call('PTTL', listing) or -2
if left == -1 and building(listing) then return redis.error_reply('BUILDING the listing') end
local renews = left < ttl - math.min(1000, ttl / 10)
local is_large = renews and redis.call('SCARD', group) > max_small
local function is_refused(answer) return type(answer) == 'table' and answer.err end

-- What votes have changed is in the log. A small group that lacks much, or cannot be given it, is built again.
if left ~= -2 and events then
  if seen == '' then seen = redis.call('HGET', views, 'listing') or '0-0' end
  local entries = redis.call('XRANGE', events, '(' .. seen, '+', 'COUNT', max_lacking)
  lacking = #entries
  local is_behind = lacking == tonumber(max_lacking)
  if is_behind and is_large then return redis.error_reply('BEHIND the log') end
  local is_done = {}
  for _, entry in ipairs(is_behind and {} or entries) do
    local member = 'article:' .. entry[2][4] -- see append.lua
    if not is_done[member] and is_refused(refresh(listing, group, ranking, member)) then is_behind = true end
    is_done[member] = true
  end
  if lacking > 0 and not is_behind then seen = entries[lacking][1] end
  if is_behind then seen = '' end
  if is_behind and not is_large then left = -2 end
  if lacking > 0 then size = redis.call('ZCARD', listing) end
end

if left == -2 and is_large then
  local begun = redis.pcall('ZADD', listing, '-inf', 'building:1:0')
  if is_refused(begun) then return begun end
  return redis.error_reply('BUILDING the listing')
end
if left == -2 then
  -- Weight 0 for the group: AGGREGATE MAX, as the book has it, would raise scores below 1 to 1.
  local stored = redis.pcall('ZINTERSTORE', listing, 2, group, ranking, 'WEIGHTS', 0, 1)
  if is_refused(stored) then
    computed = redis.call('ZINTER', 2, group, ranking, 'WEIGHTS', 0, 1, 'WITHSCORES')
    size = #computed / 2
    return read()
  end
  size = stored
end
if is_large and left >= 0 then redis.pcall('PERSIST', listing) end
if not is_large and renews then redis.pcall('PEXPIRE', listing, ttl) end
return read()
