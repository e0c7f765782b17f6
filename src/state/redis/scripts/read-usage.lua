-- Reads several hashes, as HGETALL answers them.
-- KEYS  the hashes

local all = {}
for i, key in ipairs(KEYS) do all[i] = redis.call('HGETALL', key) end
return all
