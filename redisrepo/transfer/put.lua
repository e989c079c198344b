-- put.lua: store articles of an export, with all that their hashes had. Their voters are there already.
--
-- uses types names now list_article append
-- KEY times              time:        zset     posting times, Unix seconds
-- KEY scores             score:       zset     the ranking, Unix seconds
-- KEY group_names        groups:      zset     the names of all groups
-- KEY deleted            deleted:     zset     the deleted articles by time of deletion, Unix seconds
-- KEY sizes              sizes:       zset     the names of all groups by negated number of articles
-- KEY events             events:      stream   the log
-- KEY views              views:       hash     the number of entries that are no events
-- KEYS key               three keys of the group interesting, and of each name in all_groups; then for each article article:ID,
--                        a new hash, and posted:NAME and host:NAME, zsets: the lists of articles by posting time that get it
-- ARG ranking            the ranking, as worth.lua takes it
-- ARG interesting_votes  net votes that make an article interesting
-- ARG now                now, Unix seconds; empty: the server's clock
-- ARG all_groups         the groups of these articles: names, separated by spaces
-- ARGS word              for each article its member, its posting time, Unix seconds, its net votes, downvotes and revision, its
--                        groups, like all_groups, the time of its deletion, Unix seconds, empty if it is not deleted, how many
--                        lists it has, and how many words follow: all fields of the hash and their values, in turn
--
-- Replies {'STORED'}  the articles exist, since this call or before
-- Safe to run twice: the second run finds the articles and changes nothing.

interesting_votes = tonumber(interesting_votes)
now = now_or(now)
local groups = {'interesting', unpack(words(all_groups))}
local listings = {
  times = times,
  scores = scores,
  groups = groups_at(first_key, groups, ''),
  group_names = group_names,
  sizes = sizes,
}

-- put stores an article unless it exists. The keys of its lists are KEYS[first_list] to KEYS[last_list], the fields of its
-- hash and their values are ARGV[first_field] to ARGV[last_field].
local function put(article, first_list, last_list, first_field, last_field, deleted_at, member, time, votes, downvotes, revision, group_text)
  if redis.call('EXISTS', article) == 1 then return end
  redis.call('HSET', article, unpack(ARGV, first_field, last_field))
  if deleted_at ~= '' then return redis.call('ZADD', deleted, deleted_at, member) end
  listings.lists = {unpack(KEYS, first_list, last_list)}
  listings.names = words(group_text)
  votes = tonumber(votes)
  local score = list_article(listings, member, time, votes, ranking, interesting_votes)
  append_hidden(events, views, 'imported', member, {
    revision = tonumber(revision), votes = votes, downvotes = tonumber(downvotes), score = score, by = '', to = group_text,
    time = time, groups = group_text, at = now,
  })
end

local key, word = first_key + 3 * #groups, first_word
while word <= #ARGV do
  local member, time, votes, downvotes, revision, group_text, deleted_at, list_count, word_count = unpack(ARGV, word, word + 8)
  local last_list, last_field = key + list_count, word + 8 + word_count
  put(KEYS[key], key + 1, last_list, word + 9, last_field, deleted_at, member, time, votes, downvotes, revision, group_text)
  key, word = last_list + 1, last_field + 1
end
return {'STORED'}
