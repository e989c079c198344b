-- savefront.lua: save the front page of the last full hour, before the first vote in it.
--
-- uses types now keep_front
-- KEY clock   clock:  hash  its fields front and front_since: the last hour that is saved, and the first one that is known
-- KEY pages   front:  zset  the front pages of past hours
-- KEY scores  score:  zset  the ranking, Unix seconds
-- ARG hours   for how many hours front pages are kept
-- ARG now     now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', hour}  the hour whose page is saved, since this call or before
-- Safe to run twice: the second run finds the page saved.

return {'OK', save_front(clock, pages, scores, hours, now_or(now))}
