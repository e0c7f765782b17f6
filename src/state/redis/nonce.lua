-- True once until the end: by the clock that was given, not by when Redis gets to forgetting.
-- KEYS  1 nonce      ARGV  1 now  2 end, both in ms

local ends = tonumber(redis.call('GET', KEYS[1]) or 0)
if tonumber(ARGV[1]) < ends then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', math.max(1, tonumber(ARGV[2]) - tonumber(ARGV[1])) + 1000)
return 1
