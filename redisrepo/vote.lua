-- vote.lua: set the position of a user on an article: up, down or none.
-- uses now whole worth milestones
-- KEY article      article:ID         hash    the article; its votes are net
-- KEY voted        voted:ID           set     its upvoters
-- KEY downvoted    downvoted:ID       set     its downvoters
-- KEY scores       score:             zset    the ranking
-- KEY events       events:            stream  the log, which the listings of groups and the lists of users' votes follow
-- KEY interesting  group:interesting  set     the articles with many votes
-- KEY void         void:ID            hash    the votes that do not count
-- KEY [audit]      audit:ID           hash    each voter's last vote, its time and bucket
-- ARG member       the article's member
-- ARG known        its posting time, groups and title as the caller knows them, on three lines
-- ARG position     1 up, -1 down, 0 none
-- ARG voter        the voter's member
-- ARG saved_hour   the last hour whose front page the caller believes to be saved
-- ARG [now]        now, Unix seconds; empty or missing: the server's clock
-- ARG [bucket]     a pseudonym of the voter's address, for audit
-- RULES worth_of window margin interesting_votes milestones: see voteRules in scripts.go
-- Replies {'OK', votes, downvotes, revision, hash, before}  the numbers after the vote; 0 if the article is as known, else the
--                      hash before it, {field, value, ...}; the position before, or 2 for a poster whose vote does not count
--         {'NOT_FOUND'}  the article does not exist or is deleted
--         {'CLOSED'}     its voting window is over, or its voters are forgotten
--         {'VOID', void} a moderator has taken the vote out: its field of void:ID
--         {'UNSAVED'}    the front page of an hour after saved_hour is not saved: call savefront.lua, and again
-- Safe to run twice: the second run finds the position set, and changes nothing.

local call = redis.call
local votes, downvotes, revision, time, groups, title, cast, uncounted, deleted, voided = unpack(call('HMGET', article,
  'votes', 'downvotes', 'revision', 'time', 'groups', 'title', 'cast', 'uncounted', 'deleted', 'voided'))
if not time or not groups or deleted then return {'NOT_FOUND'} end
votes, downvotes, revision = whole(votes or 0), whole(downvotes or 0), whole(revision or 0)
if not (votes and downvotes and revision and tonumber(time)) then return redis.error_reply('CORRUPT numbers of ' .. member) end
now = now_or(now or '')
local kept_for = time + window + margin - now -- seconds until the voters are forgotten
local may_be_down = downvotes > 0 or position == '-1'
local voted_ttl = call('PTTL', voted) -- milliseconds; -2: the set has no members
local downvoted_ttl = may_be_down and call('PTTL', downvoted)
local is_forgotten = voted_ttl == -2 and (uncounted or votes + downvotes > 0) or downvotes > 0 and downvoted_ttl == -2
if kept_for < margin or is_forgotten then return {'CLOSED'} end
if now / 3600 >= saved_hour + 1 then return {'UNSAVED'} end
if voided and call('HGET', void, voter) then return {'VOID', call('HGET', void, voter)} end
local hash = time .. '\n' .. groups .. '\n' .. (title or '') ~= known and call('HGETALL', article) or 0
local up, down = call('SISMEMBER', voted, voter), may_be_down and call('SISMEMBER', downvoted, voter) or 0
local change = position - (up - down)
if change == 0 then return {'OK', votes, downvotes, revision, hash, up - down} end
if uncounted and voter == call('HGET', article, 'poster') then return {'OK', votes, downvotes, revision, hash, 2} end
local after = votes + change
local crosses = (after >= interesting_votes) ~= (votes >= interesting_votes)
if crosses then call('SCARD', interesting) end -- a key of another type fails before the first write
if audit then call('HLEN', audit) end
call('XLEN', events)

local score = call('ZADD', scores, 'XX', 'INCR', string.format('%d', worth_of(after) - worth_of(votes)), member)
if not score then return redis.error_reply('CORRUPT score of ' .. member) end
if up == 1 and position ~= '1' then call('SREM', voted, voter) end
if down == 1 and position ~= '-1' then call('SREM', downvoted, voter) end
if position ~= '0' then call('SADD', position == '1' and voted or downvoted, voter) end
if math.abs(voted_ttl - 1000 * kept_for) > 61000 then call('EXPIRE', voted, math.ceil(kept_for)) end
if may_be_down and math.abs(downvoted_ttl - 1000 * kept_for) > 61000 then call('EXPIRE', downvoted, math.ceil(kept_for)) end
if crosses then call(change > 0 and 'SADD' or 'SREM', interesting, member) end
if audit then call('HSET', audit, voter, string.format('%d %.0f %s', position, tonumber(now), bucket)) end
if audit then call('EXPIRE', audit, math.ceil(kept_for)) end
local votes_text, revision_text = string.format('%d', after), string.format('%d', revision + 1) -- Redis takes longer for it
local downvotes_text = string.format('%d', downvotes - down + (position == '-1' and 1 or 0))
call('HSET', article, 'votes', votes_text, 'downvotes', downvotes_text, 'revision', revision_text,
  cast and 'cast' or 'votes', string.format('%d', (cast or votes) + change)) -- without cast, votes once more
call('XADD', events, '*', 'kind', 'voted', 'article', string.sub(member, 9), 'revision', revision_text, 'votes', votes_text,
  'downvotes', downvotes_text, 'score', score, 'by', string.sub(voter, 6), 'to', position, 'time', time, 'groups', groups, 'at', now)
append_milestones(events, article, milestones, votes, after)
return {'OK', after, tonumber(downvotes_text), revision + 1, hash, up - down}
