-- Gives a name to an owner if nobody has it, or if it still has the owner that was found to be gone.
-- KEYS  1 name      ARGV  1 new owner  2 old owner or ''  3 for how many milliseconds; without it, for ever

if (redis.call('GET', KEYS[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3]) else redis.call('SET', KEYS[1], ARGV[1]) end
return 1
