-- empty.lua: empty articles that were deleted long ago: their titles, texts, links and earlier versions.
--
-- uses types now
-- KEY meta      meta:       hash  what is known of the partition
-- KEYS article  article:ID  hash  the articles, and after each of them its history:ID
-- ARG through   time of deletion up to which all articles of the partition are emptied with these, Unix seconds
-- ARG kept      how long after the deletion an article is emptied, seconds
-- ARG now       now, Unix seconds; empty: the server's clock
--
-- Replies {'OK', n}    how many articles it has emptied
--         {'EARLY'}    some were deleted later than that, and nothing was changed
-- Safe to run twice: the second run finds the articles emptied.

if tonumber(through) > tonumber(now_or(now)) - tonumber(kept) then return {'EARLY'} end
local emptied = tonumber(redis.call('HGET', meta, 'emptied') or '-1')
local found = {}
for i = first_article, #KEYS, 2 do
  local hash = redis.call('HMGET', KEYS[i], 'deleted', 'title')
  local versions = redis.call('HKEYS', KEYS[i + 1])
  -- One that was restored meanwhile keeps its text, also if it was deleted again.
  if tonumber(hash[1] or '') and tonumber(hash[1]) <= tonumber(through) and hash[2] ~= '' then
    found[#found + 1] = {KEYS[i], KEYS[i + 1], versions}
  end
end

for _, article in ipairs(found) do
  redis.call('HSET', article[1], 'title', '', 'link', '')
  redis.call('HDEL', article[1], 'text', 'edits', 'edited')
  if #article[3] > 0 then redis.call('HDEL', article[2], unpack(article[3])) end
end
if tonumber(through) > emptied then redis.call('HSET', meta, 'emptied', through) end
return {'OK', #found}
