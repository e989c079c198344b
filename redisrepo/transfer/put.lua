-- put.lua: store an article of an export, with all that its hash had. Its voters are there already.
--
-- uses types names now list_article append
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

votes = tonumber(votes)
downvotes = tonumber(downvotes)
revision = tonumber(revision)
interesting_votes = tonumber(interesting_votes)

if redis.call('EXISTS', article) == 1 then return {'STORED'} end
local names = words(group_text)
local listings = {
  times = times,
  scores = scores,
  lists = {unpack(KEYS, first_list, first_list + list_count - 1)},
  names = names,
  groups = groups_at(first_list + list_count, {'interesting', unpack(names)}, member),
  group_names = group_names,
  sizes = sizes,
}

now = now_or(now)
redis.call('HSET', article, unpack(ARGV, first_field))
if deleted_at ~= '' then
  redis.call('ZADD', deleted, deleted_at, member)
  return {'STORED'}
end
local score = list_article(listings, member, time, votes, ranking, interesting_votes)
append_hidden(events, views, 'imported', member, {
  revision = revision, votes = votes, downvotes = downvotes, score = score, by = '', to = group_text,
  time = time, groups = group_text, at = now,
})
return {'STORED'}
