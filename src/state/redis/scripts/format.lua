-- Notes the format of the records, unless they need a newer one than the caller's.
-- KEYS  1 format      ARGV  1 format of the caller  2 the oldest format that can read it
-- Answers the format that is needed to read the records.

local noted = redis.call('HMGET', KEYS[1], 'number', 'readable_from')
local number, needed = tonumber(noted[1] or 0), tonumber(noted[2] or 0)
if needed > tonumber(ARGV[1]) then return needed end
if tonumber(ARGV[1]) > number then redis.call('HSET', KEYS[1], 'number', ARGV[1], 'readable_from', ARGV[2]) end
return needed
