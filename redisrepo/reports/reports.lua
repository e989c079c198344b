-- uses names whole worth append

-- reports_of parses what flags: of an article says of all its reports: the last number that was given out, how many are open,
-- since when, how many of these name illegal content, how many are notices, and up to which number they are decided.
local function reports_of(head, decided)
  local numbers, through = words(head or '0 0 0 0 0'), words(decided or '')
  local reports = {decided = decided or '', decisions = #through, through = tonumber(through[#through] or 0)}
  for i, name in ipairs({'last', 'open', 'since', 'illegal', 'notices'}) do reports[name] = tonumber(numbers[i]) end
  return reports
end

-- report_of parses one report.
local function report_of(text)
  local reason, at, digest, by, note = string.match(text, '^(%S+) (%d+) (%S+) ([^\n]*)\n(.*)$')
  return {reason = reason, at = tonumber(at), digest = digest, by = by, note = note}
end

-- is_notice reports whether what a report is by names a notice, and not a user.
local function is_notice(by)
  return string.sub(by, 1, 1) == '!'
end

-- count_report adds a report to the open ones, or takes it out: sign is 1 or -1.
local function count_report(reports, by, reason, sign)
  reports.open = reports.open + sign
  if reason == 'illegal' then reports.illegal = reports.illegal + sign end
  if is_notice(by) then reports.notices = reports.notices + sign end
end

-- keep_reports stores what reports_of parses, and enters the article into the queue or takes it out. Illegal content comes first,
-- then what waits longest.
local function keep_reports(flags, flagged, number, reports)
  redis.call('HSET', flags, '0', string.format('%.0f %.0f %.0f %.0f %.0f',
    reports.last, reports.open, reports.since, reports.illegal, reports.notices))
  if reports.open == 0 then
    redis.call('ZREM', flagged, number)
  else
    redis.call('ZADD', flagged, string.format('%.0f', reports.since - (reports.illegal > 0 and 1e10 or 0)), number)
  end
end

-- standing_of returns what an entry of the log says of an article, and nil if that is corrupt. It comes before the first write.
local function standing_of(article, ranking)
  local hash = redis.call('HMGET', article, 'votes', 'downvotes', 'revision', 'time', 'groups')
  local s = {
    votes = whole(hash[1] or '0'),
    downvotes = whole(hash[2] or '0'),
    revision = whole(hash[3] or '0'),
    time = hash[4],
    groups = hash[5] or '',
  }
  if not s.votes or not s.downvotes or not s.revision or not tonumber(s.time) then return nil end
  s.score = s.time + worth(ranking, s.votes)
  return s
end

-- tell_reports adds to the log that reports of an article were made or changed, without a name, or decided by a moderator.
local function tell_reports(events, kind, member, standing, by, at)
  append(events, kind, member, {
    revision = standing.revision, votes = standing.votes, downvotes = standing.downvotes, score = standing.score, by = by,
    to = standing.groups, time = standing.time, groups = standing.groups, at = at,
  })
end
