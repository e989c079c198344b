-- uses reports moderation

-- settling_of checks, before the first write, that the open reports of an article can be decided up to one of them. text has in
-- its first line the number of that one, acted or dismissed, how often reports of the article were decided before, and for how many
-- seconds the contacts of its notices and its reports are kept after the last decision; on the next line the answer to the reporters.
-- An empty text decides nothing. It returns what settle takes, and what prevents it: CONFLICT or STALE_REPORTS.
local function settling_of(flags, flagged, contacts, later_contacts, text, by)
  if text == '' then return nil end
  local line, decision = string.match(text, '^([^\n]*)\n(.*)$')
  local given, head = words(line), redis.call('HMGET', flags, '0', 'decided')
  local s = reports_of(head[1], head[2])
  local through = tonumber(given[1])
  local known = redis.call('HGET', flags, '=' .. given[1])
  local state, _, who, told = string.match(known or '', '^(%S+) (%d+) ([^\n]*)\n(.*)$')
  if known then
    s.is_done = state == given[2] and who == by and told == decision
    return s, not s.is_done and 'CONFLICT'
  end
  if through > s.last or through <= s.through then return s, 'CONFLICT' end
  local later = {open = 0, illegal = 0, notices = 0}
  for from = through + 1, s.last, 100 do
    local numbers = {}
    for number = from, math.min(from + 99, s.last) do numbers[#numbers + 1] = number end
    for _, report in ipairs(redis.call('HMGET', flags, unpack(numbers))) do
      if report then
        report = report_of(report)
        count_report(later, report.by, report.reason, 1)
        later.since = math.min(later.since or report.at, report.at)
      end
    end
  end
  if later.open == s.open then return s, 'CONFLICT' end -- they were changed since
  if s.decisions ~= tonumber(given[3]) then return s, 'STALE_REPORTS' end
  s.moved, s.moving = {}, {}
  local kept = redis.call('HGETALL', contacts)
  for i = 1, #kept, 2 do
    if tonumber(kept[i]) > through then
      s.moving[#s.moving + 1] = kept[i]
      s.moved[#s.moved + 1] = kept[i]
      s.moved[#s.moved + 1] = kept[i + 1]
    end
  end
  s.open, s.illegal, s.notices, s.since = later.open, later.illegal, later.notices, later.since or 0
  s.flags, s.flagged, s.contacts, s.later_contacts = flags, flagged, contacts, later_contacts
  s.new, s.state, s.decision, s.contact_seconds, s.kept_seconds = through, given[2], decision, given[4], given[5]
  return s
end

-- settle decides reports, and tells the log so: s is of settling_of, standing of standing_of. The arguments after these are those of
-- log_moderation, without the kind.
local function settle(s, events, standing, log, max_entries, member, by, via, at, ...)
  if not s or s.is_done then return end
  if #s.moved > 0 then
    redis.call('HSET', s.later_contacts, unpack(s.moved))
    redis.call('HDEL', s.contacts, unpack(s.moving))
  end
  redis.call('EXPIRE', s.contacts, s.contact_seconds)
  redis.call('HSET', s.flags, 'decided', string.format('%s %.0f', s.decided, s.new),
    string.format('=%.0f', s.new), string.format('%s %.0f %s\n%s', s.state, tonumber(at), by, s.decision))
  keep_reports(s.flags, s.flagged, string.sub(member, 9), s)
  if s.open == 0 then redis.call('EXPIRE', s.flags, s.kept_seconds) end
  tell_reports(events, 'settled', member, standing, by, at)
  log_moderation(log, max_entries, s.state, member, by, via, at, ...)
end
