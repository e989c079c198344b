-- uses allowed types

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
