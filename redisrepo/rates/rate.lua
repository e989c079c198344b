-- rate.lua: record charges, unless they exceed the limits of their rules.
--
-- A counter holds the amounts of the last window in parts, each with the time of its last charge. A charge
-- joins the newest part if that began less than an eighth of a window ago. A part counts until a window has
-- passed since its last charge. So no window, whenever it starts, holds more than the maximum, and an amount
-- counts for at most 9/8 of a window.
--
-- KEYS counter  rate:RULE:SUBJECT  string  of the newest part its amount, when it began and when its last charge was;
--               the sum of all older parts; the time of the last charge and the amount of each, oldest first. Times are
--               Unix milliseconds.
-- ARG gate      the gate: a rule that, when exceeded, keeps everything from being recorded; or empty
-- ARG now_text  now, Unix milliseconds; empty: the server's clock
-- ARGS charge   four for each key: its rule, empty if the amount is recorded in any case; the maximum amount in a
--               window, the window in milliseconds, the amount to record; if negative, it is given back
--
-- Replies {'OK', {{kept, used, wait, left}, ...}}
--         one for each key; kept is 0 if the key's rule, which may have several keys, is exceeded. Then
--         nothing is recorded for that rule and, if it is the gate, for any other. used is the amount in the
--         window, wait the milliseconds until this charge fits, left those until the window is empty.
-- Safe to run twice: the second run records the amounts again, so less is left.

if now_text == '' then
  local time = redis.call('TIME')
  now_text = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
end
local now = tonumber(now_text)

-- parse returns a counter without the parts that are over, or nil if the text is none. What most calls do not change
-- stays text, because converting numbers is most of the work.
local function parse(text, window)
  local amount, began, last, sum, rest = string.match(text, '^(%d+) (%d+) (%d+) (%d+)()')
  if not amount then return nil end
  local c = {amount = tonumber(amount), began = began, last = last, sum = sum, older = string.sub(text, rest)}
  if now < tonumber(last) then -- The clock was set back: nothing counts for more than a window from now.
    c.began, c.last, c.moved = math.min(tonumber(began), now), now_text, true
    c.older = string.gsub(c.older, ' (%d+) (%d+)', function(at, n) return ' ' .. math.min(tonumber(at), now) .. ' ' .. n end)
  elseif now - last >= window then
    return {amount = 0, began = 0, last = 0, sum = 0, older = ''}
  end
  local oldest = string.match(c.older, '^ (%d+)')
  while oldest and now - oldest >= window do
    local n = string.match(c.older, ' (%d+)', #oldest + 2)
    c.sum, c.older = c.sum - n, string.sub(c.older, #oldest + #n + 3)
    oldest = string.match(c.older, '^ (%d+)')
  end
  return c
end

-- add records an amount or, newest first, gives it back.
local function add(c, window, amount)
  if amount > 0 then
    if now - c.began >= window / 8 then
      if c.amount > 0 then
        c.sum, c.older = c.sum + c.amount, c.older .. ' ' .. c.last .. ' ' .. c.amount
      end
      c.began, c.amount = now_text, 0
    end
    c.last, c.amount = now_text, c.amount + amount
    return
  end
  while amount < 0 and c.amount > 0 do
    local back = math.min(c.amount, -amount)
    c.amount, amount = c.amount - back, amount + back
    if c.amount == 0 and c.older ~= '' then
      local older, last, n = string.match(c.older, '^(.*) (%d+) (%d+)$')
      c.began, c.last, c.amount, c.sum, c.older = 0, last, tonumber(n), c.sum - n, older
    end
  end
end

-- wait returns the milliseconds until an amount fits.
local function wait(c, window, most, amount)
  local excess = c.amount + c.sum + amount - most
  if excess <= 0 then return 0 end
  for last, n in string.gmatch(c.older .. ' ' .. c.last .. ' ' .. c.amount, ' (%d+) (%d+)') do
    excess = excess - n
    if excess <= 0 then return last + window - now end
  end
  return window -- it never fits
end

local counters, exceeded, waits = {}, {}, {}
for i, key in ipairs(KEYS) do
  local at = first_charge + 4 * i - 4
  local rule, most, window, amount = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  counters[i] = parse(redis.call('GET', key) or '0 0 0 0', window)
  if not counters[i] then return redis.error_reply('CORRUPT count of the rule ' .. rule) end
  waits[i] = wait(counters[i], window, most, amount)
  if waits[i] > 0 and rule ~= '' then exceeded[rule] = true end
end

local replies = {}
for i, key in ipairs(KEYS) do
  local at = first_charge + 4 * i - 4
  local c, rule, window, amount = counters[i], ARGV[at], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local recorded = not exceeded[gate] and not exceeded[rule] and amount ~= 0
  if recorded then add(c, window, amount) end
  if recorded or c.moved then
    redis.call('SET', key, c.amount .. ' ' .. c.began .. ' ' .. c.last .. ' ' .. c.sum .. c.older, 'PX', window)
  end
  local used = c.amount + c.sum
  replies[i] = {exceeded[rule] and 0 or 1, used, waits[i], used > 0 and c.last + window - now or 0}
end
return {'OK', replies}
