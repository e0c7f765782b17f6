-- Notes how far a source has been read; the place never goes back.
-- KEYS  1 places      ARGV  1 source  2 place

if tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or -1) < tonumber(ARGV[2]) then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
return 1
