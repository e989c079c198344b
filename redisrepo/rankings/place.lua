-- A place is where a step of ranked.lua ends and the next one begins. It has four words for each article that may be among
-- the best: 0, its votes, its member, its key; and for each list that was read: its number, votes and member of the article
-- where reading goes on, empty if the list was read to its end, and an empty text. It has votes and members instead of
-- ranks, which other articles' votes change: every article whose own votes do not change between two steps is read once.

-- read_place returns the best articles so far, their members, and where lists go on, by their numbers, from the arguments from
-- first on. An article whose votes have fallen meanwhile is kept out by its member.
local function read_place(first)
  local best, known, places = {}, {}, {}
  for i = first, #ARGV, 4 do
    local number, votes, member = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), ARGV[i + 2]
    if number == 0 then
      best[#best + 1], known[member] = {key = tonumber(ARGV[i + 3]), member = member, votes = votes}, true
    else
      places[number] = {votes = votes, member = member}
    end
  end
  return best, known, places
end

-- write_place returns the place of the best articles, and of lists: those in the heap go on with their next articles.
local function write_place(best, places, heap, lists)
  local reply = {}
  local function add(...)
    for _, word in ipairs({...}) do reply[#reply + 1] = word end
  end
  for _, article in ipairs(best) do add(0, article.votes, article.member, article.key) end
  for _, number in ipairs(heap) do places[number] = lists[number] or places[number] end
  for number, place in pairs(places) do add(number, place.votes or '', place.member or '', '') end
  return reply
end
