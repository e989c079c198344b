-- uses front

-- save_front saves the front page of the last full hour, unless that or a later one is saved: the ranking is as it was
-- then. A script that changes the ranking calls it before. Without the field front
-- of the clock, the memory begins with the next full hour. The pages of the last hours are kept. It returns the hour.
local function save_front(clock, pages, scores, hours, now)
  local hour, saved = math.floor(tonumber(now) / 3600), redis.call('HGET', clock, 'front')
  if saved and hour <= tonumber(saved) then return hour end
  local since = hour + 1
  if saved then
    since = math.max(tonumber(redis.call('HGET', clock, 'front_since')) or since, hour - hours)
    redis.call('ZADD', pages, hour, front_page(scores, hour))
    redis.call('ZREMRANGEBYSCORE', pages, '-inf', since - 1)
  end
  redis.call('HSET', clock, 'front', hour, 'front_since', since)
  return hour
end

-- keep_front is save_front, if the site keeps front pages.
local function keep_front(clock, pages, scores, features, now)
  local hours = string.match(features, 'front=(%d+)')
  if hours then save_front(clock, pages, scores, hours, now) end
end
