-- Reads a few fields of several hashes, as HMGET answers them.
-- KEYS  the hashes
-- ARGV  the fields

local all = {}
for i, key in ipairs(KEYS) do all[i] = redis.call('HMGET', key, unpack(ARGV)) end
return all
