-- erasevoters.lua: replace a user among the voters of an article by one without a name. The counts stay.
--
-- uses types
-- KEY article    article:ID    hash  the article
-- KEY voted      voted:ID      set   the upvoters
-- KEY downvoted  downvoted:ID  set   the downvoters
-- KEY audit      audit:ID      hash  each voter's last vote, its time and bucket
-- ARG user       user:NAME, who is erased
-- ARG erased     the member that stands for erased users
-- ARG gone       the voter without a name, a random member that is in no other set
--
-- The vote of a poster that does not count has to stay that of the poster.
--
-- Replies {'OK', changed}  1 if the user was a voter, else 0
-- Safe to run twice: the second run does not find the user.

local hash, changed = redis.call('HMGET', article, 'poster', 'uncounted'), 0
local up, down = redis.call('SISMEMBER', voted, user), redis.call('SISMEMBER', downvoted, user)
local is_poster = hash[1] == user or hash[1] == erased and redis.call('SISMEMBER', voted, erased) == 0
local function replace(set, by)
  redis.call('SADD', set, by) -- first: a set without members would lose its expiry
  redis.call('SREM', set, user)
  changed = 1
end
if up == 1 then replace(voted, hash[2] == '1' and is_poster and erased or gone) end
if down == 1 then replace(downvoted, gone) end
return {'OK', math.max(changed, redis.call('HDEL', audit, user))}
