-- layout.lua: record the layout that the data of a partition was upgraded to, unless another process was faster.
--
-- uses types
-- KEY meta    meta:  hash  layout, and what else is known of the partition
-- ARG layout  the layout
--
-- Replies {'OK'}  the data has this layout or a newer one
-- Safe to run twice: the second run changes nothing.

local recorded = tonumber(redis.call('HGET', meta, 'layout') or 0)
if not recorded or recorded < tonumber(layout) then redis.call('HSET', meta, 'layout', layout) end
return {'OK'}
