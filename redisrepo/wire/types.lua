-- must_be_zset ends the script with an error if a key has another type. A script that failed between two
-- writes would leave the first one, so every key is checked before the first write.
local function must_be_zset(...)
  for _, key in ipairs({...}) do redis.call('ZCARD', key) end
end

-- must_be_stream is must_be_zset for a stream.
local function must_be_stream(key)
  redis.call('XLEN', key)
end

-- size_of returns the size of a sorted set, 0 if it does not exist, and nil if the key has another type.
local function size_of(key)
  local size = redis.pcall('ZCARD', key)
  return type(size) == 'number' and size or nil
end
