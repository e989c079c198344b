-- uses by_bytes

-- rank_in returns how many members of a sorted set come before a member with a score, from the highest on if reverse; 1 if the
-- set has it, else 0; and how many members it looked at. Members with one score are sorted by their bytes: for one that is not
-- among them, the rank is found by binary search.
local function rank_in(set, reverse, score, member)
  local found = redis.call('ZSCORE', set, member)
  if found and tonumber(found) == tonumber(score) then
    return redis.call(reverse and 'ZREVRANK' or 'ZRANK', set, member), 1, 2
  end
  local low = redis.call('ZCOUNT', set, reverse and '(' .. score or '-inf', reverse and '+inf' or '(' .. score)
  local high, looked = low + redis.call('ZCOUNT', set, score, score), 2
  while low < high do
    local middle = math.floor((low + high) / 2)
    local place = reverse and -1 - middle or middle
    local other = redis.call('ZRANGE', set, place, place)[1]
    if reverse and by_bytes(member, other) or not reverse and by_bytes(other, member) then low = middle + 1 else high = middle end
    looked = looked + 1
  end
  return low, 0, looked
end
