-- reported.lua: enter an article into the list of those that a user has reported, before the report itself.
--
-- uses types now
-- KEY reported  reported:NAME  zset  the articles that the user reported, by time, Unix seconds
-- ARG number    the article's number
-- ARG most      the maximum number of articles in the list; the oldest are dropped
-- ARG kept      how long the list is kept from now on, seconds
-- ARG now       now, Unix seconds; empty: the server's clock
--
-- Replies {'OK'}  the article is in the list
-- Safe to run twice: the second run finds the article with its first time.

redis.call('ZADD', reported, 'NX', now_or(now), number)
redis.call('ZREMRANGEBYRANK', reported, 0, -tonumber(most) - 1)
redis.call('EXPIRE', reported, kept)
return {'OK'}
