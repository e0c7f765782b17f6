-- Stands in front of the scripts that give messages up.

local function digits(n) return string.format('%.0f', n) end

local function buryMessage(messages, texts, queue, dead, id, message, now, reason, deadMax)
  message.p = 0
  message.r = reason
  redis.call('HSET', messages, id, cjson.encode(message))
  redis.call('ZREM', queue, id)
  redis.call('ZADD', dead, now, id)
  local over = redis.call('ZCARD', dead) - deadMax
  if over <= 0 then return end
  for _, old in ipairs(redis.call('ZRANGE', dead, 0, over - 1)) do
    redis.call('HDEL', messages, old)
    redis.call('HDEL', texts, old)
    redis.call('ZREM', dead, old)
  end
end
