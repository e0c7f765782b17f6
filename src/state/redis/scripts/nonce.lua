-- Answers `new` once for a nonce until its end, `seen` after that, and `full` where there is no room. The
-- given clock counts, not the time at which Redis forgets.
-- KEYS  1 nonces of the tenant  2 those of the key      ARGV  1 now  2 end, both in ms  3 nonce
--       4, 5 how many each may have

local now, ends = tonumber(ARGV[1]), tonumber(ARGV[2])
-- The clocks of nodes differ by less than this.
local skewMs = 60000

if now < tonumber(redis.call('ZSCORE', KEYS[1], ARGV[3]) or 0) then return 'seen' end
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - skewMs))
  if redis.call('ZCOUNT', key, '(' .. ARGV[1], '+inf') >= tonumber(ARGV[3 + i]) then return 'full' end
end
local keptMs = math.max(1, ends - now) + skewMs
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, ARGV[2], ARGV[3])
  if redis.call('PTTL', key) < keptMs then redis.call('PEXPIRE', key, string.format('%.0f', keptMs)) end
end
return 'new'
