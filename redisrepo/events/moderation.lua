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

-- why_of is what the field why of an article's hash says: when, on which ground and who, and on a line each the basis and the
-- reason, which may be empty.
local function why_of(at, ground, by, basis, reason)
  return string.format('%.0f %s %s\n%s\n%s', tonumber(at), ground, by, basis, reason)
end
