-- Lets a call in, or says why not: one atomic step. The records that the node has judged by must still stand; where they do not,
-- nothing is taken, and the fresh ones are the answer. The arithmetic is that of limits.ts, step by step.
--
-- KEYS  1 revisions  2 keys  3 agents  4 numbers of the tenant  5 numbers of the key  6 destinations of the agent
--       7 numbers of the key whose bucket it is: that of an ephemeral key is its parent's
--       8 MCP servers  9 history of the agent  10 marks against it  11 times of its last writes to the tool
--       12 sightings of the tenant  13 … days of budgets
-- ARGV  1 revision of the node's records, or ''  2 id of the key  3 id of the agent that the call names, or ''
--       4 call | rate | nothing (as a call, but nothing is taken) | blocked | none  5 the caller's clock in ms, or '' for the server's  6 destination
--       7 quota or ''  8 overage 0|1  9 uses or ''  10, 11 rate and capacity of the tenant or ''  12, 13 those of the key or ''
--       14 ms until the key's numbers may go, or ''  15 field of what stands against the tools of an MCP server, or ''
--       16 how many further names are asked for  17 how many writes the call makes  18 id of the last sighting that the node knows, or '-'
--       19 … these names, then for each budget the number of its day in KEYS, name, amount, daily

local revisions = redis.call('HMGET', KEYS[1], 'keys', 'policies', 'credentials', 'routes')
for i = 1, 4 do revisions[i] = revisions[i] or '-' end

local function answer(...) return { revisions[1], revisions[2], revisions[3], revisions[4], ... } end

if ARGV[1] ~= revisions[1] then
  local key = redis.call('HGET', KEYS[2], ARGV[2])
  if not key then return answer('unknown') end
  local record = cjson.decode(key)
  local parent = record.parentKeyId and record.parentKeyId ~= cjson.null and redis.call('HGET', KEYS[2], record.parentKeyId)
  local named = ARGV[3] ~= '' and redis.call('HGET', KEYS[3], ARGV[3])
  local agent = redis.call('HGET', KEYS[3], record.agentId)
  return answer('stale', key, parent or '', agent or '', named or '', redis.call('HGET', KEYS[3], 'suspension') or '')
end

local mode = ARGV[4]
if mode == 'none' then return answer('ok') end
if mode == 'blocked' then
  redis.call('HINCRBY', KEYS[5], 'blocked', 1)
  return answer('ok')
end

local now = tonumber(ARGV[5])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local dayMs = 86400000

-- Months since the year 0, and the day that a month begins on, counted from 1970-01-01: years begin in March, so that the leap
-- day is the last of a year, and 400 years are 146097 days.
local function monthOf(ms)
  local z = math.floor(ms / dayMs) + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  return (yoe + era * 400) * 12 + mp + 2
end

local function firstDayOf(month)
  local m = month - 2
  local year, mp = math.floor(m / 12), m % 12
  local era = math.floor(year / 400)
  local yoe = year - era * 400
  local doe = yoe * 365 + math.floor(yoe / 4) - math.floor(yoe / 100) + math.floor((153 * mp + 2) / 5)
  return era * 146097 + doe - 719468
end

local month = monthOf(now)
local _, used = count(KEYS[4], 'month', month, 24)

local quota = tonumber(ARGV[7])
if mode ~= 'rate' and quota and used >= quota and ARGV[8] == '0' then
  local ends = firstDayOf(month + 1) * dayMs
  return answer('quota', digits(math.max(1, math.ceil((ends - now) / 1000))))
end
local uses = tonumber(ARGV[9])
if uses and tonumber(redis.call('HGET', KEYS[5], 'uses') or 0) >= uses then return answer('used up') end

local partsPerToken = 60000
local limited
local buckets = {}
for i, key in ipairs({ KEYS[4], KEYS[7] }) do
  local rate, capacity = tonumber(ARGV[8 + 2 * i]), tonumber(ARGV[9 + 2 * i])
  if rate then
    local standing = redis.call('HMGET', key, 'level', 'at')
    local full = capacity * partsPerToken
    local at = tonumber(standing[2]) or now
    local level = math.min(full, (tonumber(standing[1]) or full) + math.max(0, now - at) * rate)
    if level < partsPerToken and not limited then
      limited = { i == 1 and 'tenant' or 'key', math.max(1, math.ceil((partsPerToken - level) / rate / 1000)), rate }
    end
    buckets[#buckets + 1] = { key, level - partsPerToken, math.max(at, now) }
  end
end

local hour = math.floor(now / 3600000)
if limited then
  grow(KEYS[4], 'limited', hour, 24)
  return answer('limited', limited[1], digits(limited[2]), digits(limited[3]))
end
if mode == 'nothing' then return answer('ok') end
for _, bucket in ipairs(buckets) do
  redis.call('HSET', bucket[1], 'level', digits(bucket[2]), 'at', digits(bucket[3]))
end

if mode == 'call' then
  used = grow(KEYS[4], 'month', month, 24)
  grow(KEYS[4], 'slot', math.floor(now / 10000), 6)
  redis.call('HINCRBY', KEYS[5], 'uses', 1)
  local seen = tonumber(redis.call('HGET', KEYS[5], 'seen') or 0)
  redis.call('HSET', KEYS[5], 'seen', digits(math.max(seen, now)))
  grow(KEYS[5], 'hour', hour, 24)
end
if ARGV[14] ~= '' then redis.call('PEXPIRE', KEYS[5], ARGV[14]) end

local isNew = redis.call('ZSCORE', KEYS[6], ARGV[6]) and '0' or '1'
local namesEnd = 18 + tonumber(ARGV[16])
for i = 19, namesEnd do isNew = isNew .. (redis.call('ZSCORE', KEYS[6], ARGV[i]) and '0' or '1') end
local concerns = ARGV[15] ~= '' and redis.call('HGET', KEYS[8], ARGV[15]) or ''

-- Calls of the last ten minutes, by minutes.
local lately = 0
if mode == 'call' then
  local minute = math.floor(now / 60000)
  grow(KEYS[9], 'minute', minute, 10)
  for i = 0, 9 do
    local _, calls = count(KEYS[9], 'minute', minute - i, 10)
    lately = lately + calls
  end
end

-- As `withMutations` of habits.ts.
local writes, writesMax, minuteMs = 0, 10, 60000
if tonumber(ARGV[17]) > 0 then
  for _ = 1, math.min(writesMax, tonumber(ARGV[17])) do redis.call('LPUSH', KEYS[11], digits(now)) end
  redis.call('LTRIM', KEYS[11], 0, writesMax - 1)
  redis.call('PEXPIRE', KEYS[11], minuteMs)
  for _, at in ipairs(redis.call('LRANGE', KEYS[11], 0, -1)) do
    if math.abs(now - tonumber(at)) < minuteMs then writes = writes + 1 end
  end
end

local trust = trustOf(KEYS[9])
local marks = trust.trust < trustMax and table.concat(redis.call('LRANGE', KEYS[10], 0, -1), ',') or ''
local since = ARGV[18] == '-' and '-' or '(' .. ARGV[18]
local sightings = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[12], since, '+', 'COUNT', 16)) do
  sightings[#sightings + 1] = entry[1] .. ' ' .. entry[2][2]
end
local admitted = answer(
  'ok', isNew, digits(used), concerns,
  habitsAt(KEYS[9], now) .. ',' .. digits(lately) .. ',' .. writes,
  digits(trust.trust) .. ',' .. digits(trust.clean) .. ',' .. digits(trust.at), marks, table.concat(sightings, '\n')
)

-- A day is over in every zone of the world when this has passed since it was last charged, and two more days.
local budgetKeptMs = 4 * dayMs
for i = namesEnd + 1, #ARGV, 4 do
  local day, name, amount, daily = KEYS[tonumber(ARGV[i])], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local before = tonumber(redis.call('HGET', day, name) or 0)
  if before >= daily then admitted[#admitted + 1] = name end
  if amount > 0 then
    redis.call('HSET', day, name, digits(before + amount))
    redis.call('PEXPIRE', day, budgetKeptMs)
  end
end
return admitted
