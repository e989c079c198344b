-- next_in moves a list to its next article, in descending order of votes, and returns how many members it looked at. At the
-- end, list.member is nil. Posting times are read if times is their key. Each page is twice as long as the one before.
local function next_in(list, key, times)
  local looked, at = 0, list.at + 2
  if at > #list.page and #list.page == 2 * list.size and list.rank then
    local rank, size = list.rank + list.size, list.size == 0 and 4 or list.size < 64 and 2 * list.size or 64
    local page = redis.call('ZRANGE', key, rank, rank + size - 1, 'REV', 'WITHSCORES')
    list.page, list.rank, list.size, at, looked = page, rank, size, 1, #page / 2
    if times and looked > 0 then
      local members = {}
      for i = 1, looked do members[i] = page[2 * i - 1] end
      list.posted = redis.call('ZMSCORE', times, unpack(members))
    end
  end
  list.at, list.member, list.votes = at, list.page[at], tonumber(list.page[at + 1])
  return looked
end
