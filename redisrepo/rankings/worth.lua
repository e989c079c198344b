-- worth returns what net votes add to the posting time in a score, whole seconds. ranking is one of
--
--   linear V      V for each vote
--   capped V C    the same, at most C, and at least half of -C
--   halflife H    H for each doubling of 1 plus the votes, to the nearest second; negative for negative votes
--
-- The logarithm is a series of additions, multiplications and divisions: these are the same in every Lua and in Go,
-- while math.log differs in the last bit.
local function worth(ranking, votes)
  local kind, each, cap = string.match(ranking, '^(%a+) (%d+) ?(%d*)$')
  if kind == 'linear' then return each * votes end
  if kind == 'capped' then return math.max(-math.floor(cap / 2), math.min(each * votes, tonumber(cap))) end
  local f, exponent = math.frexp(1 + math.abs(votes))
  if f < 0.7 then f, exponent = 2 * f, exponent - 1 end -- so f is 0.7 to 1.4
  local s = (f - 1) / (f + 1)
  local square, sum = s * s, 0
  for k = 25, 1, -2 do sum = sum * square + 1 / k end
  local seconds = math.floor(each * (exponent + sum * s * 2.8853900817779268) + 0.5) -- 2 / ln 2
  return votes < 0 and -seconds or seconds
end
