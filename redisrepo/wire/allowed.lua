-- must_be_allowed ends the script with an error if the user lacks the right to one of the commands from its first
-- write on, which are given with their keys in turn. Like must_be_zset, it is called before the first write.
-- Redis 6.2 cannot check this.
local function must_be_allowed(...)
  local may, writes = redis.acl_check_cmd, {...}
  for i = 1, may and #writes or 0, 2 do
    if not may(writes[i], writes[i + 1]) then error({err = 'NOPERM ' .. writes[i] .. ' ' .. writes[i + 1]}) end
  end
end
