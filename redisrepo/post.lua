-- post.lua: store a new article, in the rankings and in its groups. Posting stores it with the poster's
-- vote, importing with any number of votes.
--
-- uses types names now whole voter_sets cast_expiry list_article keep_front append
-- KEY article            article:ID     hash     the article, new
-- KEY voted              voted:ID       set      the upvoters
-- KEY downvoted          downvoted:ID   set      the downvoters
-- KEY times              time:          zset     posting times, Unix seconds
-- KEY scores             score:         zset     the ranking, Unix seconds
-- KEY group_names        groups:        zset     the names of all groups
-- KEY counter            article:       string   the last article number given out
-- KEY record             post:USER:KEY  string   the record of the idempotency key; unused without one
-- KEY link_record        link:DIGEST    string   the newest article with this link; unused if reserved_seconds is empty
-- KEY sizes              sizes:         zset     the names of all groups by negated number of articles
-- KEY clock              clock:         hash     the last hour with a front page
-- KEY pages              front:         zset     the front pages of past hours
-- KEY events             events:        stream   the log
-- KEY views              views:         hash     the number of entries that are no events
-- KEYS list              posted:NAME and host:NAME, zsets: the lists of articles by posting time that get this one; then
--                        three keys of the group interesting, and of each name in group_text; with cast, then cast:USER:MONTH, a
--                        zset: what the poster voted on among the articles of that month
-- ARG member             the article's member
-- ARG number             its number among those that counter gives out
-- ARG poster             the poster's member
-- ARG title              title
-- ARG link               link, or empty
-- ARG text               text, or empty
-- ARG posted_at          posting time, Unix seconds; empty: now
-- ARG votes              net votes, without a vote of the poster that does not count
-- ARG poster_counts      1 if the poster's own vote counts, else 0
-- ARG ranking            the ranking, as worth.lua takes it
-- ARG window             voting window, seconds
-- ARG margin             how much longer than the window the voters are kept, seconds
-- ARG interesting_votes  net votes that make an article interesting
-- ARG group_text         its groups: sorted names, separated by spaces
-- ARG now                now, Unix seconds; empty: the server's clock
-- ARG digest             digest of the submission; empty without an idempotency key
-- ARG record_ttl         how long the record of the idempotency key is kept, seconds
-- ARG kind               the kind of its entry: posted, or imported
-- ARG reserved_seconds   how long the link is reserved, seconds; empty: there is no link, or link.lua records it
-- ARG prepared           1 if voters.lua has added the placeholders of an import, else 0: this script adds them
-- ARG features           the features that are on, separated by spaces
-- ARG list_count         how many lists there are
--
-- Replies {'CREATED', {field, value, ...}}  the hash of the new article
--         {'TAKEN', {field, value, ...}}    the number belongs to this article; nothing is written
--         {'REPEATED', member}              the idempotency key was used for this article, with this digest
--         {'CONFLICT'}                      the idempotency key was used with another digest
--         {'DUPLICATE', member}             the link is reserved for this article; nothing is written
--         {'UNPREPARED'}                    prepared is 1, but there are other voters; nothing is written
--         {'STALE', time}                   MONTH is not that of this posting time: call again with its key
-- Safe to run twice: the second run replies TAKEN or REPEATED and changes nothing.

votes = tonumber(votes)
poster_counts = poster_counts == '1'
margin = tonumber(margin)
interesting_votes = tonumber(interesting_votes)
reserved_seconds = tonumber(reserved_seconds)
prepared = prepared == '1'
local history = tonumber(string.match(features, 'cast=(%d+)')) -- nil without cast
local cast = KEYS[#KEYS] -- read with history only

if digest ~= '' then
  local stored = redis.call('GET', record)
  if stored then
    local earlier, first_digest = string.match(stored, '^(%S+) (%S+)$')
    if first_digest ~= digest then return {'CONFLICT'} end
    return {'REPEATED', earlier}
  end
end
if redis.call('EXISTS', article) == 1 then return {'TAKEN', redis.call('HGETALL', article)} end
now = now_or(now)
if reserved_seconds then
  local earlier, earlier_time = string.match(redis.call('GET', link_record) or '', '^(%S+) (%S+)$')
  if earlier and tonumber(now) < tonumber(earlier_time) + reserved_seconds then return {'DUPLICATE', earlier} end
end
local time = posted_at ~= '' and posted_at or now
if history and not is_of_month(cast, time) then return {'STALE', time} end
local last_number = whole(redis.call('GET', counter) or '0')
if not last_number then return redis.error_reply('CORRUPT counter of articles') end

-- Voters are stored only while voting is open. All but the poster are placeholders. Before the article exists,
-- the sets have no other members than those that voters.lua added.
local voters_kept = time_to_keep(time, window, margin, now)
local is_open = voters_kept >= margin
local poster_votes = not poster_counts or votes > 0
local voter_set = votes < 0 and downvoted or voted
local other_set = votes < 0 and voted or downvoted
local placeholders = math.abs(votes)
if poster_counts and votes > 0 then placeholders = votes - 1 end
if prepared and is_open then
  local is_complete = redis.call('SCARD', voter_set) == placeholders and redis.call('SCARD', other_set) == 0
  if not is_complete then return {'UNPREPARED'} end
end

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
local downvotes = math.max(0, -votes)

keep_front(clock, pages, scores, features, now)
redis.call('HSET', article, 'title', title, 'link', link, 'poster', poster, 'time', time,
  'votes', votes, 'downvotes', downvotes, 'groups', group_text, 'revision', 1)
if text ~= '' then redis.call('HSET', article, 'text', text) end
if not poster_counts then redis.call('HSET', article, 'uncounted', '1') end

if not is_open or not prepared then redis.call('UNLINK', voted, downvoted) end
if is_open then
  if poster_votes then redis.call('SADD', voted, poster) end
  if not prepared then add_placeholders(voter_set, 1, placeholders) end
  redis.call('EXPIRE', voted, voters_kept)
  redis.call('EXPIRE', downvoted, voters_kept)
end
if is_open and history then
  redis.call('HSET', article, 'cast', votes)
  if poster_votes then redis.call('ZADD', cast, time, string.sub(member, 9)) end
  if poster_votes and history > 0 then redis.call('EXPIRE', cast, cast_expiry(time, window, history, now)) end
end

local score = list_article(listings, member, time, votes, ranking, interesting_votes)
if last_number < tonumber(number) then redis.call('SET', counter, number) end
if digest ~= '' then redis.call('SET', record, member .. ' ' .. digest, 'EX', record_ttl) end
if reserved_seconds then redis.call('SET', link_record, member .. ' ' .. time) end
local change = {
  revision = 1, votes = votes, downvotes = downvotes, score = score, by = '', to = group_text,
  time = time, groups = group_text, at = now,
}
if kind == 'posted' then
  change.by = poster
  append(events, kind, member, change)
else
  append_hidden(events, views, kind, member, change)
end
return {'CREATED', redis.call('HGETALL', article)}
