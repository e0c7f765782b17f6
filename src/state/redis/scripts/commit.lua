-- Writes records and their audit entry if all that the writer has read still stands; else nothing. Checks
-- come before all writes.
--
-- ARGV  operations of four: name, number of the key, and two arguments.
--   has field text    the field has this text ('' = there is none)
--   audit count hash  the log has so many entries, and the last one has this hash
--   room ms most      fewer than `most` members end after that
--   put field text, drop field, log entry, remove (the whole key)
--   seed field text   puts the text where the field is not there
--   index place       a record's place in an index by time
--   trim most records   beyond `most` places the oldest of an index go, with their records
--   ending ms member, ended ms, leave member   members that have an end
--   grow bytes field, shed most records   fields by the bytes of all up to each; those that `most` came after go,
--                     with their records
--   prune 'ms most' 'index records'   some records that ended before go, while there are more than `most`,
--                     with 'concerns:<id>' and the fields that 'link:<id>' and 'denial:<id>' name

local checks = {}

function checks.has(key, field, text)
  return (redis.call('HGET', key, field) or '') == text
end

function checks.audit(key, entries, hash)
  if redis.call('LLEN', key) ~= tonumber(entries) then return false end
  local last = redis.call('LINDEX', key, -1)
  return not last or string.sub(last, 1, 64) == hash
end

function checks.room(key, fromMs, most)
  return redis.call('ZCOUNT', key, '(' .. fromMs, '+inf') < tonumber(most)
end

local writes = {}

function writes.put(key, field, text) redis.call('HSET', key, field, text) end
function writes.seed(key, field, text) redis.call('HSETNX', key, field, text) end
function writes.remove(key) redis.call('DEL', key) end
function writes.drop(key, field) redis.call('HDEL', key, field) end
function writes.index(key, member) redis.call('ZADD', key, 0, member) end
function writes.log(key, entry) redis.call('RPUSH', key, entry) end

-- A place in an index is 15 digits of time, a colon and the id of the record.
local function forget(records, place)
  local id = string.sub(place, 17)
  for _, name in ipairs({ 'link:' .. id, 'denial:' .. id }) do
    local link = redis.call('HGET', records, name)
    if link and redis.call('HGET', records, link) == id then redis.call('HDEL', records, link) end
    redis.call('HDEL', records, name)
  end
  redis.call('HDEL', records, id, 'concerns:' .. id)
end

function writes.trim(key, most, records)
  while redis.call('ZCARD', key) > tonumber(most) do
    forget(KEYS[tonumber(records)], redis.call('ZPOPMIN', key)[1])
  end
end

function writes.ending(key, atMs, member) redis.call('ZADD', key, atMs, member) end
function writes.ended(key, atMs) redis.call('ZREMRANGEBYSCORE', key, '-inf', atMs) end
function writes.leave(key, member) redis.call('ZREM', key, member) end

local function bytesIn(key)
  return tonumber(redis.call('ZRANGE', key, 0, 0, 'REV', 'WITHSCORES')[2]) or 0
end

function writes.grow(key, bytes, field)
  redis.call('ZADD', key, string.format('%.0f', bytesIn(key) + tonumber(bytes)), field)
end

function writes.shed(key, most, records)
  local bound = string.format('%.0f', bytesIn(key) - tonumber(most))
  local fields = redis.call('ZRANGE', key, '-inf', bound, 'BYSCORE', 'LIMIT', 0, 1000)
  if #fields == 0 then return end
  redis.call('HDEL', KEYS[tonumber(records)], unpack(fields))
  redis.call('ZREM', key, unpack(fields))
end

function writes.prune(key, bounds, others)
  local beforeMs, most = string.match(bounds, '^(%S+) (%d+)$')
  local index, records = string.match(others, '^(%d+) (%d+)$')
  local over = redis.call('ZCARD', KEYS[tonumber(index)]) - tonumber(most)
  if over <= 0 then return end
  for _, place in ipairs(redis.call('ZRANGE', key, '-inf', beforeMs, 'BYSCORE', 'LIMIT', 0, math.min(over, 16))) do
    forget(KEYS[tonumber(records)], place)
    redis.call('ZREM', KEYS[tonumber(index)], place)
    redis.call('ZREM', key, place)
  end
end

for i = 1, #ARGV, 4 do
  local check = checks[ARGV[i]]
  if check and not check(KEYS[tonumber(ARGV[i + 1])], ARGV[i + 2], ARGV[i + 3]) then return 0 end
end
for i = 1, #ARGV, 4 do
  local write = writes[ARGV[i]]
  if write then write(KEYS[tonumber(ARGV[i + 1])], ARGV[i + 2], ARGV[i + 3]) end
end
return 1
