-- uses kinds

-- types ends a script with an error that names the key if one of its keys has another type than its kind. Redis takes nothing
-- back of a script that fails, so this comes before all else. The error has no names of users and groups: it is logged.
for _, key in ipairs(KEYS) do
  local tag, name, rest = string.match(key, '^(.-)(%l+):(.*)$')
  local read = rest == '' and read_by_kind[name .. ':'] or read_by_kind[name]
  local reply = redis.pcall(read, key)
  if type(reply) == 'table' and reply.err then
    local shown = string.match(rest, '^%d*$') and key or tag .. name .. ':*'
    return redis.error_reply(reply.err .. ': ' .. shown)
  end
end
