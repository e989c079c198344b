-- positions.lua: tell where a user stands on some articles, by the sets of their voters.
--
-- ARG voter    the user's member
-- KEYS voters  two sets for each article: voted:ID and downvoted:ID
--
-- Replies {position, ...}  of each article: 1 up, -1 down, 0 none
-- Safe to run twice: it changes nothing.

local positions = {}
for i = first_voters, #KEYS, 2 do
  positions[#positions + 1] = redis.call('SISMEMBER', KEYS[i], voter) - redis.call('SISMEMBER', KEYS[i + 1], voter)
end
return positions
