-- voters.lua: add some of the placeholders for the voters of an article before post.lua imports it. An
-- article may have so many voters that one script would block Redis for seconds.
--
-- uses types now voter_sets
-- KEY article    article:ID    hash  the article, which must not exist yet
-- KEY voted      voted:ID      set   the upvoters
-- KEY downvoted  downvoted:ID  set   the downvoters
-- ARG sign       1 for upvoters, -1 for downvoters
-- ARG first      number of the first placeholder to add
-- ARG last       number of the last one
-- ARG restart    1 to remove all voters first, else 0
-- ARG time       posting time, Unix seconds
-- ARG window     voting window, seconds
-- ARG margin     how much longer than the window the voters are kept, seconds
-- ARG now        now, Unix seconds; empty: the server's clock
--
-- Replies {'ADDED'}  the placeholders are in the set, which expires like that of an article
--         {'DONE'}   no placeholders are needed: the article exists, or its voting window is over
-- Safe to run twice: the second run adds nothing. Nothing reads the sets of an article that does not exist,
-- and post.lua removes them unless its prepared is 1.

first, last, restart, margin = tonumber(first), tonumber(last), restart == '1', tonumber(margin)
local set = sign == '1' and voted or downvoted

local kept = time_to_keep(time, window, margin, now_or(now))
if kept < margin or redis.call('EXISTS', article) == 1 then return {'DONE'} end
if restart then redis.call('UNLINK', voted, downvoted) end
add_placeholders(set, first, last)
redis.call('EXPIRE', set, kept)
return {'ADDED'}
