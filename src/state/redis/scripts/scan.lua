-- Keeps what was found in the answer to a call, as long as its trace.
-- KEYS  1 ids of its window  2 scans of it      ARGV  1 scan  2 scans that a trace may have  3 its id

if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return 'unknown' end
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[2]) then return 'full' end
redis.call('RPUSH', KEYS[2], ARGV[1])
local leftMs = redis.call('PTTL', KEYS[1])
if leftMs > 0 then redis.call('PEXPIRE', KEYS[2], leftMs) end
return 'ok'
