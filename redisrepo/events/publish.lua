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
