-- begin.lua: have a view that is about to be built follow the log from its present end on.
--
-- uses types
-- KEY views   views:   hash    how far the views have the log
-- KEY events  events:  stream  the log
-- ARG view    name of the view
--
-- Replies {'OK'}
-- Safe to run twice: the second run changes nothing. It must run before the first article is read for the view.

local last = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
redis.call('HSETNX', views, view, last and last[1] or '0-0')
return {'OK'}
