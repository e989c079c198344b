-- append adds a change of an article to the log. change has the article's revision, votes, downvotes, score, posting time and groups
-- after it, and
--
--   by     the member of the user who made it, or empty
--   to     the position after a vote, the net votes of a milestone, and else the article's groups
--   at     the time of the change, Unix seconds
--   left   if not empty, the groups that it was taken out of
--   ground, basis, reason  if there is a ground, why a moderator made it
--
-- Entries of the same fields in this order share their names, and numbers are formatted here since Redis takes longer for it.
local function append(events, kind, member, change)
  local fields = {
    'kind', kind,
    'article', string.sub(member, 9),
    'revision', string.format('%d', change.revision),
    'votes', string.format('%d', change.votes),
    'downvotes', string.format('%d', change.downvotes),
    'score', change.score,
    'by', string.sub(change.by, 6),
    'to', change.to,
    'time', change.time,
    'groups', change.groups,
    'at', change.at,
  }
  local function add(name, value)
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  if change.left and change.left ~= '' then add('left', change.left) end
  if change.ground and change.ground ~= '' then
    add('ground', change.ground)
    add('basis', change.basis)
    add('reason', change.reason)
  end
  redis.call('XADD', events, '*', unpack(fields))
end

-- append_hidden is append for what is no event of the change feed. The log keeps a number of events, so it counts the others.
local function append_hidden(events, views, kind, member, change)
  append(events, kind, member, change)
  redis.call('HINCRBY', views, 'hidden', 1)
end
