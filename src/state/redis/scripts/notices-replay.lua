-- Puts messages that were given up into the queue again.
--
-- KEYS  1 messages  2 queue of the channel  3 its messages that were given up
-- ARGV  1 ms, then ids

local replayed = 0
for at = 2, #ARGV do
  local id = ARGV[at]
  if redis.call('ZSCORE', KEYS[3], id) then
    local message = cjson.decode(redis.call('HGET', KEYS[1], id))
    message.a = 0
    message.q = tonumber(ARGV[1])
    message.r = nil
    redis.call('HSET', KEYS[1], id, cjson.encode(message))
    redis.call('ZREM', KEYS[3], id)
    redis.call('ZADD', KEYS[2], ARGV[1], id)
    replayed = replayed + 1
  end
end
return replayed
