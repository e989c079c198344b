-- put.lua: store an article of an export, with all that its hash had. Its voters are there already.
--
-- uses names now types allowed append lists_at index_group groups worth
-- KEY article            article:ID   hash     the article, new
-- KEY times              time:        zset     posting times, Unix seconds
-- KEY scores             score:       zset     the ranking, Unix seconds
-- KEY group_names        groups:      zset     the names of all groups
-- KEY deleted            deleted:     zset     the deleted articles by time of deletion, Unix seconds
-- KEY sizes              sizes:       zset     the names of all groups by negated number of articles
-- KEY events             events:      stream   the log
-- KEY views              views:       hash     the number of entries that are no events
-- KEYS list              posted:NAME and host:NAME, zsets: the lists of articles by posting time that get this one; then
--                        three keys of the group interesting, and of each name in group_text
-- ARG member             the article's member
-- ARG time               posting time, Unix seconds
-- ARG votes              net votes
-- ARG downvotes          downvotes
-- ARG revision           revision
-- ARG ranking            the ranking, as worth.lua takes it
-- ARG interesting_votes  net votes that make an article interesting
-- ARG group_text         its groups: sorted names, separated by spaces
-- ARG deleted_at         time of deletion, Unix seconds; empty: it is not deleted
-- ARG now                now, Unix seconds; empty: the server's clock
-- ARG list_count         how many lists there are
-- ARGS field             all fields of the hash and their values, in turn
--
-- Replies {'STORED'}  the article exists, since this call or before
-- Safe to run twice: the second run finds the article and changes nothing.

votes, downvotes, revision = tonumber(votes), tonumber(downvotes), tonumber(revision)
interesting_votes = tonumber(interesting_votes)

if redis.call('EXISTS', article) == 1 then return {'STORED'} end
local names = words(group_text)
local groups = groups_at(first_list + list_count, {'interesting', unpack(names)})
for _, group in pairs(groups) do check_group(group, member) end
must_be_zset(times, scores, group_names, sizes, deleted)
must_be_allowed('HSET', article, 'ZADD', times, 'ZADD', scores, 'ZADD', group_names,
  'ZADD', sizes, 'ZADD', deleted, 'ZSCORE', scores)
local lists = lists_at(first_list, list_count, 'ZADD')
must_take_entries(events, views)

now = now_or(now)
redis.call('HSET', article, unpack(ARGV, first_field))
if deleted_at ~= '' then
  redis.call('ZADD', deleted, deleted_at, member)
  return {'STORED'}
end
redis.call('ZADD', times, time, member)
redis.call('ZADD', scores, tonumber(time) + worth(ranking, votes), member)
for _, list in ipairs(lists) do redis.call('ZADD', list, time, member) end
local score = redis.call('ZSCORE', scores, member)
for _, name in ipairs(names) do
  enter(groups[name], member, score, time)
  index_group(group_names, sizes, groups[name], name)
end
if votes >= interesting_votes then enter(groups.interesting, member, score, time) end
append_hidden(events, views, 'imported', member, revision, votes, downvotes, score, '', group_text, time, group_text, now)
return {'STORED'}
