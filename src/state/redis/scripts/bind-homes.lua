-- Binds credentials to a home: all of them, or none.
--
-- KEYS  1 homes of the tenant: "<ms of the end> <home>" by credential  2 credentials by their ends
--       3 those that the agent was the first to use
-- ARGV  1 now in ms  2 home  3, 4 how many the tenant and the agent may have  5 ms that the keys are kept
--       6 … credential, ms of the end

local now, home, keptMs = tonumber(ARGV[1]), ARGV[2], ARGV[5]

-- Removes some homes that have ended, a few more than come.
local ended = redis.call('ZRANGE', KEYS[2], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, 64)
if #ended > 0 then
  redis.call('HDEL', KEYS[1], unpack(ended))
  redis.call('ZREM', KEYS[2], unpack(ended))
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ARGV[1])

local isNew, new = {}, 0
for i = 6, #ARGV, 2 do
  local standing = redis.call('HGET', KEYS[1], ARGV[i])
  local ends, at = string.match(standing or '', '^(%d+) (.*)$')
  if ends and tonumber(ends) > now then
    if at ~= home then return 'elsewhere' end
  elseif not isNew[ARGV[i]] then
    isNew[ARGV[i]] = true
    new = new + 1
  end
end
if new > 0 then
  if redis.call('ZCARD', KEYS[2]) + new > tonumber(ARGV[3]) then return 'full' end
  if redis.call('ZCARD', KEYS[3]) + new > tonumber(ARGV[4]) then return 'full' end
end

for i = 6, #ARGV, 2 do
  local credential, ends = ARGV[i], ARGV[i + 1]
  redis.call('ZADD', KEYS[2], 'GT', ends, credential)
  ends = string.format('%.0f', tonumber(redis.call('ZSCORE', KEYS[2], credential)))
  redis.call('HSET', KEYS[1], credential, ends .. ' ' .. home)
  if isNew[credential] then redis.call('ZADD', KEYS[3], ends, credential)
  else redis.call('ZADD', KEYS[3], 'XX', 'GT', ends, credential) end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, keptMs) end
return 'bound'
