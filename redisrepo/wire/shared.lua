-- shared.lua: the functions that the scripts share. Each script gets those that it uses, since every call of it
-- defines them again.
--
-- KEYS    the last ones are group:NAME, score:NAME and time:NAME of each group that the script is
--         given; the two listings need not exist
-- ARGV    none
-- Replies none
-- Safe to run twice: it only defines functions.

local function words(text)
  local list = {}
  for word in string.gmatch(text, '[^ ]+') do list[#list + 1] = word end
  return list
end

-- by_bytes compares names as Go does: < would depend on the locale of the server.
local function by_bytes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- calendar_at returns the calendar whose keys for an article start at KEYS[first].
local function calendar_at(first)
  return {clock = KEYS[first], hours = KEYS[first + 1], days = KEYS[first + 2], months = KEYS[first + 3]}
end

-- groups_at maps each name to its three keys, which start at KEYS[first]. If the feature group_top is on, after those of
-- all names follow four keys of each name's calendar, then in its field calendar; the group interesting has none.
local function groups_at(first, names, features)
  local groups, next_top = {}, first + 3 * #names
  for i, name in ipairs(names) do
    local k = first + 3 * (i - 1)
    groups[name] = {members = KEYS[k], by_score = KEYS[k + 1], by_time = KEYS[k + 2]}
    if string.find(features, 'group_top', 1, true) and name ~= 'interesting' then
      groups[name].calendar = calendar_at(next_top)
      next_top = next_top + 4
    end
  end
  return groups
end

-- hour_of returns the hour of a posting time, Unix seconds, as hourOf in calendar.go does.
local function hour_of(time)
  return math.floor(math.max(-9e12, math.min(9e12, tonumber(time))) / 3600)
end

-- posted_in reports whether the list of an hour is that of articles posted at a time, Unix seconds.
local function posted_in(list, time)
  return tonumber(string.match(list, 'h:(%-?%d+)')) == hour_of(time)
end

-- now_or returns clock, Unix seconds, or the time of the server if it is empty.
local function now_or(clock)
  return clock ~= '' and clock or redis.call('TIME')[1]
end

-- whole parses an integer, and returns nil for any other text.
local function whole(text)
  local number = tonumber(text)
  return number and number % 1 == 0 and number
end

-- worth returns what net votes add to the posting time in a score, whole seconds. ranking is one of
--
--   linear V      V for each vote
--   capped V C    the same, at most C, and at least half of -C
--   halflife H    H for each doubling of 1 plus the votes, to the nearest second; negative for negative votes
--
-- The logarithm is a series of additions, multiplications and divisions: these are the same in every Lua and in Go,
-- while math.log differs in the last bit.
local function worth(ranking, votes)
  local kind, each, cap = string.match(ranking, '^(%a+) (%d+) ?(%d*)$')
  if kind == 'linear' then return each * votes end
  if kind == 'capped' then return math.max(-math.floor(cap / 2), math.min(each * votes, tonumber(cap))) end
  local f, exponent = math.frexp(1 + math.abs(votes))
  if f < 0.7 then f, exponent = 2 * f, exponent - 1 end -- so f is 0.7 to 1.4
  local s = (f - 1) / (f + 1)
  local square, sum = s * s, 0
  for k = 25, 1, -2 do sum = sum * square + 1 / k end
  local seconds = math.floor(each * (exponent + sum * s * 2.8853900817779268) + 0.5) -- 2 / ln 2
  return votes < 0 and -seconds or seconds
end

-- publication returns the command that publishes on a channel.
local function publication(channel)
  return string.sub(channel, 1, 1) == '{' and 'SPUBLISH' or 'PUBLISH'
end

-- publish publishes the change of an article as the text
--
--   kind member revision votes downvotes score group group ...
--
-- and, for two kinds, a second line: for a vote, the position and the voter; for a deletion, the time, Unix
-- seconds, and the actor. The revision is the number of the article's changes, so the receiver of two
-- states knows the later one. A channel with a tag is a sharded one.
local function publish(channel, kind, member, revision, votes, downvotes, score, groups, more)
  redis.call(publication(channel), channel, string.format('%s %s %d %d %d %s %s%s',
    kind, member, revision, votes, downvotes, score, groups, more and '\n' .. more or ''))
end

-- log_moderation appends an entry to the moderation log, which then drops its oldest entries beyond about
-- max_entries. via is the service that acts for by, or empty. The remaining arguments are names and values of further
-- fields.
local function log_moderation(log, max_entries, kind, member, by, via, at, ...)
  local fields = {'kind', kind, 'article', member, 'by', by, 'at', at, ...}
  if via ~= '' then
    fields[6] = via
    fields[#fields + 1] = 'on_behalf_of'
    fields[#fields + 1] = by
  end
  redis.call('XADD', log, 'MAXLEN', '~', max_entries, '*', unpack(fields))
end

-- must_be_zset ends the script with an error if a key has another type. A script that failed between two
-- writes would leave the first one, so every key is checked before the first write.
local function must_be_zset(...)
  for _, key in ipairs({...}) do redis.call('ZCARD', key) end
end

-- has_name reports whether a key such as host:NAME has a name: an article without a link has no host.
local function has_name(key)
  return string.sub(key, -1) ~= ':'
end

-- must_be_stream is must_be_zset for a stream.
local function must_be_stream(key)
  redis.call('XLEN', key)
end

-- tell appends a change to the change feed, which then drops its oldest entries beyond about max_events, and returns its id;
-- nil: the site has no feed. by is the member of the user who made the change. to is the position after a vote, the net votes of a
-- milestone, and else the article's groups. Names of fields that are always the same take no memory, and numbers are
-- formatted here since Redis takes longer for it.
local function tell(events, max_events, kind, member, revision, votes, downvotes, score, by, to)
  if max_events then
    return redis.call('XADD', events, 'MAXLEN', '~', max_events, '*', 'kind', kind, 'article', string.sub(member, 9),
      'revision', string.format('%d', revision), 'votes', string.format('%d', votes), 'downvotes', string.format('%d', downvotes),
      'score', score, 'by', string.sub(by, 6), 'to', type(to) == 'number' and string.format('%d', to) or to)
  end
end

-- must_be_allowed ends the script with an error if the user lacks the right to one of the commands from its first
-- write on, which are given with their keys in turn. Like must_be_zset, it is called before the first write. Redis 6.2 cannot tell.
local function must_be_allowed(...)
  local may, writes = redis.acl_check_cmd, {...}
  for i = 1, may and #writes or 0, 2 do
    if not may(writes[i], writes[i + 1]) then error({err = 'NOPERM ' .. writes[i] .. ' ' .. writes[i + 1]}) end
  end
end

-- must_take_events returns how many events the change feed keeps, nil if the site has none, after must_be_stream and
-- must_be_allowed for tell.
local function must_take_events(events, features)
  local max_events = string.match(features, 'events=(%d+)')
  if max_events then
    must_be_stream(events)
    must_be_allowed('XADD', events)
  end
  return max_events
end

-- time_to_keep returns how long the voters of an article are still kept: seconds, rounded up, from now to
-- margin after the end of its voting window. It is not positive if that time is over.
local function time_to_keep(time, window, margin, now)
  return math.ceil(tonumber(time) + tonumber(window) + tonumber(margin) - tonumber(now))
end

-- cast_expiry returns how long a user's votes on the articles of a month of 32 days are still kept: seconds, from now to
-- history after the last vote on one of them can be cast.
local function cast_expiry(time, window, history, now)
  return math.ceil((math.floor(tonumber(time) / 2764800) + 1) * 2764800 + window + history - now)
end

-- add_placeholders adds the voters import:first to import:last. They stand for the voters of an import, and
-- differ from the members of users.
local function add_placeholders(set, first, last)
  local batch = {}
  for i = first, last do
    batch[#batch + 1] = string.format('import:%d', i)
    if #batch == 1000 or i == last then
      redis.call('SADD', set, unpack(batch))
      batch = {}
    end
  end
end

-- check_group ends the script with an error if a key of a group has another type than it must have (see
-- must_be_zset), and notes whether it has the article, and which of the group's listings exist.
local function check_group(group, member)
  group.has_member = redis.call('SISMEMBER', group.members, member) == 1
  group.has_score = redis.call('ZCARD', group.by_score) > 0
  group.has_time = redis.call('ZCARD', group.by_time) > 0
end

-- must_be_changeable is must_be_allowed for enter and leave.
local function must_be_changeable(group)
  must_be_allowed('SADD', group.members, 'SREM', group.members, 'ZADD', group.by_score, 'ZREM', group.by_score,
    'ZADD', group.by_time, 'ZREM', group.by_time, 'SCARD', group.members)
end

-- building returns the member of the listing of a group that says how far it is built (see gather.lua), nil if it is complete.
local function building(listing)
  return string.match(redis.call('ZRANGE', listing, 0, 0)[1] or '', '^building:.*')
end

-- index_group puts a group into the indexes by name and by size, or removes one without articles from them. Sizes are
-- negated: the largest groups come first, and those of one size in the order of their names.
local function index_group(group_names, sizes, group, name)
  local size = redis.call('SCARD', group.members)
  if size > 0 then
    redis.call('ZADD', group_names, 0, name)
    redis.call('ZADD', sizes, -size, name)
  else
    redis.call('ZREM', group_names, name)
    redis.call('ZREM', sizes, name)
  end
end

-- check_calendar ends the script with an error if a key of a calendar has another type than it must have, or if the user
-- may not change it, and notes up to which day it is folded. The calendar of a group that has none yet begins like that of
-- all articles, whose clock is given for a group.
local function check_calendar(calendar, clock)
  calendar.folded = tonumber(redis.call('HGET', calendar.clock, 'folded'))
  if clock and redis.call('HLEN', calendar.clock) == 0 then
    calendar.folded = tonumber(redis.call('HGET', clock, 'folded'))
    calendar.begins = calendar.folded
  end
  local hours, days, months = calendar.hours, calendar.days, calendar.months
  must_be_zset(hours, days, months)
  must_be_allowed('ZADD', hours, 'ZADD', days, 'ZADD', months, 'ZREM', hours, 'ZREM', days, 'ZREM', months,
    'HGET', calendar.clock, 'HSET', calendar.clock)
end

-- calendars_at returns the calendars that an article is in, checked: that of all articles, whose keys start at KEYS[first],
-- and those of its groups; none if the feature is off.
local function calendars_at(first, groups, features)
  if not string.find(features, 'calendar', 1, true) then return {} end
  local all = calendar_at(first)
  local calendars = {all}
  check_calendar(all)
  for _, group in pairs(groups) do
    if group.calendar then
      check_calendar(group.calendar, all.clock)
      calendars[#calendars + 1] = group.calendar
    end
  end
  return calendars
end

-- schedule puts an article into the lists of a checked calendar for its posting time, with its votes, and raises their peaks:
-- no article of a list has more votes. That is the list of the hour, and when the day is folded those of the day and the 32
-- days. A list that has an article has a peak.
local function schedule(calendar, member, votes)
  if calendar.begins then redis.call('HSET', calendar.clock, 'folded', calendar.begins) end
  local is_folded = calendar.folded and tonumber(string.match(calendar.days, 'd:(%-?%d+)')) <= calendar.folded
  for _, list in ipairs(is_folded and {calendar.days, calendar.months} or {calendar.hours}) do
    redis.call('ZADD', list, votes, member)
    local peak_of = 'p:' .. string.match(list, 'top:(%a:%-?%d+)')
    local peak = tonumber(redis.call('HGET', calendar.clock, peak_of))
    if not peak or votes > peak then redis.call('HSET', calendar.clock, peak_of, votes) end
  end
end

-- unschedule removes an article from a checked calendar. Peaks stay: they are bounds.
local function unschedule(calendar, member)
  for _, list in ipairs({calendar.hours, calendar.days, calendar.months}) do redis.call('ZREM', list, member) end
end

-- enter and leave change a checked group and its existing listings together. Scores are passed as the text
-- that Redis returned, so none is rounded on the way.
local function enter(group, member, score, time)
  if not group.has_member then redis.call('SADD', group.members, member) end
  if group.has_score then redis.call('ZADD', group.by_score, score, member) end
  if group.has_time then redis.call('ZADD', group.by_time, time, member) end
end

local function leave(group, member)
  if group.has_member then redis.call('SREM', group.members, member) end
  if group.has_score then redis.call('ZREM', group.by_score, member) end
  if group.has_time then redis.call('ZREM', group.by_time, member) end
end

-- front_page is the first 100 of the ranking as text: the hour, then the number and the score of each article, the highest
-- first. A whole score that follows one is written as its distance from that, any other score as it is, after a =.
local function front_page(scores, hour)
  local ranked, above = redis.call('ZRANGE', scores, 0, 99, 'REV', 'WITHSCORES'), nil
  local text = {string.format('%d', hour)}
  for i = 1, #ranked, 2 do
    local number, score = string.match(ranked[i], '^article:(%d+)$'), tonumber(ranked[i + 1])
    if number then
      text[#text + 1] = number
      if above and above % 1 == 0 and score % 1 == 0 then
        text[#text + 1] = string.format('%.0f', above - score)
      else
        text[#text + 1] = string.format('=%.17g', score)
      end
      above = score
    end
  end
  return table.concat(text, ' ')
end

-- save_front saves the front page of the last full hour, unless that or a later one is saved: the ranking is as it was
-- then. It is called when all is checked, before the first write of a script that changes the ranking. saved is the
-- field front of the clock; without it, the memory begins with the next full hour. The pages of the last hours are kept.
local function save_front(clock, pages, scores, saved, hours, now)
  local hour = math.floor(tonumber(now) / 3600)
  if saved and hour <= tonumber(saved) then return end
  must_be_allowed('HSET', clock, 'ZADD', pages, 'ZREMRANGEBYSCORE', pages)
  local since = hour + 1
  if saved then
    since = math.max(tonumber(redis.call('HGET', clock, 'front_since')) or since, hour - hours)
    redis.call('ZADD', pages, hour, front_page(scores, hour))
    redis.call('ZREMRANGEBYSCORE', pages, '-inf', since - 1)
  end
  redis.call('HSET', clock, 'front', hour, 'front_since', since)
end

-- keep_front is save_front, if the site keeps front pages.
local function keep_front(clock, pages, scores, features, now)
  local hours = string.match(features, 'front=(%d+)')
  if hours then save_front(clock, pages, scores, redis.call('HGET', clock, 'front'), hours, now) end
end
