-- Keeps the scan of a call's answer as long as its trace.
-- KEYS  1 ids of its window  2 scans of it  3 … traces by facts of their answers, those that the scan tells
-- ARGV  1 scan  2 scans that a trace may have  3 its id  4 its second  5 the first second that is kept
--       6 how long, in ms

if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return 'unknown' end
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[2]) then return 'full' end
redis.call('RPUSH', KEYS[2], ARGV[1])
local leftMs = redis.call('PTTL', KEYS[1])
if leftMs > 0 then redis.call('PEXPIRE', KEYS[2], leftMs) end
for at = 3, #KEYS do
  redis.call('ZADD', KEYS[at], ARGV[4], ARGV[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[at], '-inf', '(' .. ARGV[5])
  redis.call('PEXPIRE', KEYS[at], ARGV[6])
end
return 'ok'
