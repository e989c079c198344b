-- voters.lua: add some of the placeholders for the voters of an article before post.lua imports it. An
-- article may have so many voters that one script would block Redis for seconds.
--
-- KEYS[1]  article:ID    hash  the article, which must not exist yet
-- KEYS[2]  voted:ID      set   the upvoters
-- KEYS[3]  downvoted:ID  set   the downvoters
-- ARGV[1]  1 for upvoters, -1 for downvoters
-- ARGV[2]  number of the first placeholder to add
-- ARGV[3]  number of the last one
-- ARGV[4]  1 to remove all voters first, else 0
-- ARGV[5]  posting time, Unix seconds
-- ARGV[6]  voting window, seconds
-- ARGV[7]  how much longer than the window the voters are kept, seconds
-- ARGV[8]  now, Unix seconds; empty: the server's clock
--
-- Replies {'ADDED'}  the placeholders are in the set, which expires like that of an article
--         {'DONE'}   no placeholders are needed: the article exists, or its voting window is over
-- Safe to run twice: the second run adds nothing. Nothing reads the sets of an article that does not exist,
-- and post.lua removes those that it was not told of.

local article, voted, downvoted = KEYS[1], KEYS[2], KEYS[3]
local set = ARGV[1] == '1' and voted or downvoted
local first, last, restart = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local time, window, margin, now = ARGV[5], ARGV[6], tonumber(ARGV[7]), ARGV[8]

local kept = time_to_keep(time, window, margin, now_or(now))
if kept < margin or redis.call('EXISTS', article) == 1 then return {'DONE'} end
if restart then redis.call('UNLINK', voted, downvoted) end
add_placeholders(set, first, last)
redis.call('EXPIRE', set, kept)
return {'ADDED'}
