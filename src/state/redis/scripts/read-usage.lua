-- What several have used, as HGETALL answers it.
-- KEYS  numbers of each

local all = {}
for i, key in ipairs(KEYS) do all[i] = redis.call('HGETALL', key) end
return all
