-- uses by_bytes

-- is_before is the order of a ranking.
local function is_before(key, member, other_key, other_member)
  return key > other_key or key == other_key and member ~= other_member and by_bytes(other_member, member)
end

-- keep_best puts an article among the best ones, of which there are at most wanted, the best first. known has their members.
-- It returns how many members could be looked at in the time that it took to move others.
local function keep_best(best, known, wanted, key, member, votes)
  local size = #best
  if known[member] then return 0 end
  if size == wanted then
    local last = best[size]
    if not is_before(key, member, last.key, last.member) then return 0 end
    known[last.member], best[size] = nil, nil
    size = size - 1
  end
  -- Equal keys are compared by bytes, which takes many times as long as moving an article.
  local from, to = 1, size + 1
  while from < to do
    local middle = math.floor((from + to) / 2)
    local other = best[middle]
    if is_before(key, member, other.key, other.member) then to = middle else from = middle + 1 end
  end
  table.insert(best, from, {key = key, member = member, votes = votes})
  known[member] = true
  return math.floor((size + 1 - from) / 16)
end
