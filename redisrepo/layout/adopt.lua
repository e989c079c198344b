-- adopt.lua: take over what a program of the book has written about one article.
--
-- uses types names now whole voter_sets append index_group groups leave worth keep_front
-- KEY article            article:ID         hash    the article
-- KEY voted              voted:ID           set     the upvoters
-- KEY downvoted          downvoted:ID       set     the downvoters
-- KEY times              time:              zset    posting times, Unix seconds
-- KEY scores             score:             zset    the ranking, Unix seconds
-- KEY group_names        groups:            zset    the names of all groups
-- KEY sizes              sizes:             zset    the names of all groups by negated number of articles
-- KEY clock              clock:             hash    the last hour with a front page
-- KEY pages              front:             zset    the front pages of past hours
-- KEY events             events:            stream  the log
-- KEY views              views:             hash    the number of entries that are no events
-- KEYS list              posted:NAME of expected_poster and host:NAME of expected_link, zsets: its lists by posting time;
--                        then three keys of the group interesting, and of each name in names_text
-- ARG member             the article's member
-- ARG names_text         names of groups that may have the article, sorted, with those that its hash lists
-- ARG expected_poster    the poster's member as the caller expects it, or empty
-- ARG expected_link      its link as the caller expects it, or empty
-- ARG ranking            the ranking, as worth.lua takes it
-- ARG window             voting window, seconds
-- ARG margin             how much longer than the window the voters are kept, seconds
-- ARG interesting_votes  net votes that make an article interesting
-- ARG features           the features that are on, separated by spaces; empty: nothing follows the log yet
-- ARG now                now, Unix seconds; empty: the server's clock
-- ARG list_count         how many lists there are
-- ARGS voter             members of voters who may be in both sets: the upvote was cast over the downvote
--
-- The sets of the groups say which the article is in. A deleted article is in none.
--
-- Replies {'OK'}     the hash, the lists and the indexes say what the keys of the book say
--         {'STALE'}  the poster, the link or the groups of the hash differ from those that the caller expects: read them again
-- Safe to run twice: the second run finds all as it should be, but for another entry in the log.

local hash = redis.call('HMGET', article, 'groups', 'poster', 'link', 'votes', 'downvotes', 'deleted', 'cast')
local poster = hash[2] or ''
local link = hash[3] or ''
local votes = whole(hash[4] or '0')
local downvotes = whole(hash[5] or '0')
local is_deleted = hash[6]
local all_cast = hash[7] == hash[4]
local time = redis.call('ZSCORE', times, member)
local names = words(names_text)
local is_candidate = {}
for _, name in ipairs(names) do is_candidate[name] = true end
for _, name in ipairs(words(hash[1] or '')) do
  if not is_candidate[name] then return {'STALE'} end
end
if poster ~= expected_poster or link ~= expected_link then return {'STALE'} end
if not votes or not downvotes then return redis.error_reply('CORRUPT votes or downvotes of ' .. member) end

local interesting = groups_at(first_list + list_count, {'interesting'}, member).interesting
local groups = groups_at(first_list + list_count + 3, names, member)
now = now_or(now)

if not time and not is_deleted then return {'OK'} end -- check reports it
if not time or is_deleted then
  leave(interesting, member)
  for _, name in ipairs(names) do
    leave(groups[name], member)
    index_group(group_names, sizes, groups[name], name)
  end
  return {'OK'}
end

-- A program of the book counts the poster's vote as the first, so it is known without the set of voters.
time = string.format('%d', math.floor(tonumber(time)))
local kept = time_to_keep(time, window, margin, now)
if votes == 1 and downvotes == 0 and poster ~= '' and kept >= tonumber(margin) and redis.call('SCARD', voted) == 0 then
  redis.call('SADD', voted, poster)
end
for i = first_voter, #ARGV do
  if redis.call('SISMEMBER', voted, ARGV[i]) == 1 and redis.call('SREM', downvoted, ARGV[i]) == 1 then
    votes = votes + 1
    downvotes = downvotes - 1
  end
end
for _, set in ipairs({voted, downvoted}) do
  if kept > 0 then redis.call('EXPIRE', set, kept) else redis.call('UNLINK', set) end
end

keep_front(clock, pages, scores, features, now)
redis.call('ZADD', times, time, member)
redis.call('ZADD', scores, tonumber(time) + worth(ranking, votes), member)
for i = first_list, first_list + list_count - 1 do redis.call('ZADD', KEYS[i], time, member) end
local score = redis.call('ZSCORE', scores, member)
local is_in = {}
local left = {}
for _, name in ipairs(names) do
  local group = groups[name]
  if group.has_member then
    enter(group, member, score, time)
    is_in[#is_in + 1] = name
  else
    leave(group, member)
    left[#left + 1] = name
  end
  index_group(group_names, sizes, group, name)
end
if votes >= tonumber(interesting_votes) then
  enter(interesting, member, score, time)
else
  leave(interesting, member)
end

local text = table.concat(is_in, ' ')
local votes_text = string.format('%d', votes)
redis.call('HSET', article, 'groups', text, 'time', time, 'votes', votes_text, 'downvotes', string.format('%d', downvotes))
if all_cast then redis.call('HSET', article, 'cast', votes_text) end
if features ~= '' then
  append_hidden(events, views, 'noticed', member, {
    revision = 0, votes = votes, downvotes = 0, score = '', by = '', to = '',
    time = time, groups = text, at = now, left = table.concat(left, ' '),
  })
end
return {'OK'}
