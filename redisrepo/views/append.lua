-- uses allowed types

-- append adds a change of an article to the log. by is the member of the user who made the change,
-- or empty. to is the position after a vote, the net votes of a milestone, and else the article's groups. time is its posting time
-- and at the time of the change, Unix seconds. groups are those after the change; left, if not empty, those that it was taken out of.
-- ground, basis and reason, if any, say why a moderator made it.
-- Entries of the same fields in this order share their names, and numbers are formatted here since Redis takes longer for it.
local function append(events, kind, member, revision, votes, downvotes, score, by, to, time, groups, at, left, ground, basis, reason)
  local fields = {'kind', kind, 'article', string.sub(member, 9), 'revision', string.format('%d', revision),
    'votes', string.format('%d', votes), 'downvotes', string.format('%d', downvotes), 'score', score, 'by', string.sub(by, 6),
    'to', to, 'time', time, 'groups', groups, 'at', at}
  if left and left ~= '' then fields[#fields + 1], fields[#fields + 2] = 'left', left end
  if ground and ground ~= '' then
    for _, word in ipairs({'ground', ground, 'basis', basis, 'reason', reason}) do fields[#fields + 1] = word end
  end
  redis.call('XADD', events, '*', unpack(fields))
end

-- append_hidden is append for what is no event of the change feed. The log keeps a number of events, so it counts the others.
local function append_hidden(events, views, ...)
  append(events, ...)
  redis.call('HINCRBY', views, 'hidden', 1)
end

-- notice is append_hidden for an article that a legacy client changed.
local function notice(events, views, member, votes, time, groups, at)
  append_hidden(events, views, 'noticed', member, 0, votes, 0, '', '', '', time, groups, at)
end

-- must_take_entries ends the script with an error if append could fail; given views, if append_hidden could.
local function must_take_entries(events, views)
  must_be_stream(events)
  must_be_allowed('XADD', events)
  if views then
    redis.call('HLEN', views)
    must_be_allowed('HINCRBY', views)
  end
end
