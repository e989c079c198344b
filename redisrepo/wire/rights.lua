-- rights.lua: find out whether the user may run one command, without any effect.
--
-- KEY [key]  the command's key, if it has one
-- ARGS word  the command and its arguments, with which it fails or changes nothing
--
-- Replies {'OK'}             the user may run it
--         {'DENIED', error}  the user lacks a right
--         {'UNKNOWN', error} the server does not have the command
-- Safe to run twice: it changes nothing.

local command = {unpack(ARGV, first_word)}
if redis.acl_check_cmd then
  if redis.acl_check_cmd(unpack(command)) then return {'OK'} end
  return {'DENIED', 'NOPERM ' .. command[1]}
end

-- Redis 6.2 only tells when the command runs. Two have no form without an effect: HSETNX is not checked, and SADD has a reserved key.
if command[1] == 'HSETNX' then return {'OK'} end
if command[1] == 'SADD' then redis.call('DEL', key) end
local answer = redis.pcall(unpack(command))
if command[1] == 'SADD' then redis.call('DEL', key) end
local failed = type(answer) == 'table' and answer.err
if failed and string.find(failed, 'The user executing the script', 1, true) then return {'DENIED', failed} end
if failed and string.find(failed, 'Unknown Redis command', 1, true) then return {'UNKNOWN', failed} end
return {'OK'}
