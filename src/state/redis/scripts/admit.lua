-- Admits or refuses the calls of one turn, one after the other, in one atomic step. The records that the node
-- has judged by must still stand. Where they do not, it takes nothing and answers the fresh records. The
-- arithmetic is that of limits.ts, step by step.
--
-- KEYS  1 revisions  2 keys  3 agents  4 numbers of the tenant  5 MCP servers  6 sightings of the tenant
--       7 … keys that calls name by their number
-- ARGV  1 id of the last sighting that the node knows, or '-'  2 number of callers
--       for each caller:
--         revision of the node's records, or '', id of the key, id of the agent that is named, or ''
--         quota or '', overage 0|1, uses or '', rate and capacity of the tenant or '', those of the key or ''
--         ms until the key's numbers may go, or '', and the numbers of these keys: numbers of the key,
--         destinations of the agent, numbers of the key whose bucket it is (that of an ephemeral key is its
--         parent's), history of the agent, marks against it
--       for each call:
--         number of its caller, call | rate | nothing (as a call, but nothing is taken) | blocked | none
--         the caller's clock in ms, or '' for the server's, destination, field of the concerns about the
--         tools of an MCP server, or ''
--         how many writes it makes, and the number of the key with the times of the last ones to the tool
--         how many further names are asked for and these, how many budgets and of each the number of its day,
--         name, amount, daily
--
-- Answers the revisions, the sightings that the node does not know, what was read of agents, and for each
-- call a list: its status, and what belongs to it.
--
-- `scripts.ts` puts fields.lua (`field`, `setField`), ring.lua (`count`, `grow`) and history.lua (`habitsAt`,
-- `trustOf`) in front of it.

local revisions = redis.call('HMGET', KEYS[1], 'keys', 'policies', 'credentials', 'routes')
for i = 1, 4 do revisions[i] = revisions[i] or '-' end

local i = 3
local function take()
  i = i + 1
  return ARGV[i - 1]
end
local function takeKey() return KEYS[tonumber(take())] end

local callers = {}
for n = 1, tonumber(ARGV[2]) do
  callers[n] = {
    revision = take(), id = take(), named = take(),
    quota = tonumber(take()), overage = take() == '1', uses = tonumber(take()),
    rates = { { tonumber(take()), tonumber(take()) }, { tonumber(take()), tonumber(take()) } }, keptMs = take(),
    numbers = takeKey(), known = takeKey(), bucket = takeKey(), history = takeKey(), marks = takeKey(),
  }
end

-- Answers an id in a record. No text in the record can look like its field, since quotes in texts are escaped.
-- The record is not parsed as a whole: a text that cjson does not take would fail all calls of the turn.
local function idIn(record, name) return record:match('"' .. name .. '":"([^"]*)"') end

local function recordsOf(caller)
  local key = redis.call('HGET', KEYS[2], caller.id)
  if not key then return { 'unknown' } end
  local parentId, agentId = idIn(key, 'parentKeyId'), idIn(key, 'agentId')
  local parent = parentId and redis.call('HGET', KEYS[2], parentId)
  local named = caller.named ~= '' and redis.call('HGET', KEYS[3], caller.named)
  local agent = agentId and redis.call('HGET', KEYS[3], agentId)
  return { 'stale', key, parent or '', agent or '', named or '', redis.call('HGET', KEYS[3], 'suspension') or '' }
end

local serverMs
local function timeOf(clock)
  if clock ~= '' then return tonumber(clock) end
  if not serverMs then
    local time = redis.call('TIME')
    serverMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  return serverMs
end

local dayMs = 86400000

-- Answers the number of a month, counted from the year 0. `firstDayOf` answers the day that a month begins
-- on, counted from 1970-01-01. Years begin in March, so that the leap day is the last of a year, and 400
-- years are 146097 days.
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

local partsPerToken = 60000
local aheadMsMax = 3600000

-- Takes what the call needs. Answers why it is not let in, or nil and the used part of the quota.
local function takeFor(caller, mode, now)
  local month = monthOf(now)
  local _, used = count(KEYS[4], 'month', month, 24)
  if mode ~= 'rate' and caller.quota and used >= caller.quota and not caller.overage then
    local ends = firstDayOf(month + 1) * dayMs
    return { 'quota', digits(math.max(1, math.ceil((ends - now) / 1000))) }
  end
  if caller.uses and (tonumber(field(caller.numbers, 'uses')) or 0) >= caller.uses then return { 'used up' } end

  local limited
  local buckets = {}
  for n, key in ipairs({ KEYS[4], caller.bucket }) do
    local rate, capacity = unpack(caller.rates[n], 1, 2)
    if rate then
      local full = capacity * partsPerToken
      local at = tonumber(field(key, 'at')) or now
      local level = math.min(full, (tonumber(field(key, 'level')) or full) + math.max(0, now - at) * rate)
      -- A clock that was far ahead has set it. It counts as full, or it would stay empty until that time.
      if at - now > aheadMsMax then at, level = now, full end
      if level < partsPerToken and not limited then
        limited = { n == 1 and 'tenant' or 'key', math.max(1, math.ceil((partsPerToken - level) / rate / 1000)), rate }
      end
      buckets[#buckets + 1] = { key, level - partsPerToken, math.max(at, now) }
    end
  end
  local hour = math.floor(now / 3600000)
  if limited then
    grow(KEYS[4], 'limited', hour, 24)
    return { 'limited', limited[1], digits(limited[2]), digits(limited[3]) }
  end
  if mode == 'nothing' then return { 'ok' } end
  for _, bucket in ipairs(buckets) do
    setField(bucket[1], 'level', digits(bucket[2]))
    setField(bucket[1], 'at', digits(bucket[3]))
  end
  if mode == 'call' then
    used = grow(KEYS[4], 'month', month, 24)
    grow(KEYS[4], 'slot', math.floor(now / 10000), 6)
    addToField(caller.numbers, 'uses', 1)
    setField(caller.numbers, 'seen', digits(math.max(tonumber(field(caller.numbers, 'seen')) or 0, now)))
    grow(caller.numbers, 'hour', hour, 24)
  end
  if caller.keptMs ~= '' then keepFor(caller.numbers, caller.keptMs) end
  return nil, used
end

-- Counts the call, and answers the calls of the last ten minutes.
local function latelyOf(history, now)
  local minute, lately = math.floor(now / 60000), 0
  readFields(history, { 'minute0', 'minute1', 'minute2', 'minute3', 'minute4', 'minute5', 'minute6', 'minute7', 'minute8', 'minute9' })
  grow(history, 'minute', minute, 10)
  for n = 0, 9 do
    local _, calls = count(history, 'minute', minute - n, 10)
    lately = lately + calls
  end
  return lately
end

-- Notes the writes of a call and answers those of the last minute, as `withMutations` and `mutationsAt` of
-- habits.ts do.
local function writesOf(key, times, now)
  if times == 0 then return 0 end
  local writes, writesMax, minuteMs = 0, 10, 60000
  for _ = 1, math.min(writesMax, times) do redis.call('LPUSH', key, digits(now)) end
  redis.call('LTRIM', key, 0, writesMax - 1)
  redis.call('PEXPIRE', key, minuteMs)
  for _, at in ipairs(redis.call('LRANGE', key, 0, -1)) do
    if math.abs(now - tonumber(at)) < minuteMs then writes = writes + 1 end
  end
  return writes
end

local scores = {}
local function isNew(known, name)
  local names = scores[known] or {}
  scores[known] = names
  if names[name] == nil then names[name] = redis.call('ZSCORE', known, name) and '0' or '1' end
  return names[name]
end

-- Answers the place in `agents` of an agent's habits and trust. Calls of the same agent at the same time
-- share it, since `admit` changes neither.
local agents, places = {}, {}
local function placeOf(caller, now)
  local place = caller.history .. ' ' .. digits(now)
  if not places[place] then
    local trust = trustOf(caller.history)
    local marks = trust.trust < trustMax and table.concat(redis.call('LRANGE', caller.marks, 0, -1), ',') or ''
    agents[#agents + 1] = {
      habitsAt(caller.history, now), digits(trust.trust) .. ',' .. digits(trust.clean) .. ',' .. digits(trust.at), marks,
    }
    places[place] = #agents
  end
  return places[place]
end

-- How long a day is kept after it was last charged: by then it is over in every zone of the world, and two
-- more days are.
local budgetKeptMs = 4 * dayMs
local answers, isAnyIn = {}, false

local function admit()
  local caller, mode, clock, destination, concernsField = callers[tonumber(take())], take(), take(), take(), take()
  local writes, mutations = tonumber(take()), takeKey()
  local names, budgets = {}, {}
  for n = 1, tonumber(take()) do names[n] = take() end
  for n = 1, tonumber(take()) do budgets[n] = { takeKey(), take(), tonumber(take()), tonumber(take()) } end

  if caller.revision ~= revisions[1] then
    caller.records = caller.records or recordsOf(caller)
    return caller.records
  end
  if mode == 'none' then return { 'ok' } end
  if mode == 'blocked' then
    addToField(caller.numbers, 'blocked', 1)
    return { 'ok' }
  end
  local now = timeOf(clock)
  local refused, used = takeFor(caller, mode, now)
  if refused then return refused end

  isAnyIn = true
  local news = isNew(caller.known, destination)
  for _, name in ipairs(names) do news = news .. isNew(caller.known, name) end
  local concerns = concernsField ~= '' and field(KEYS[5], concernsField) or ''
  local lately = mode == 'call' and latelyOf(caller.history, now) or 0
  local counted = writesOf(mutations, writes, now)
  local admitted = { 'ok', news, used, concerns, placeOf(caller, now), lately, counted }
  for _, budget in ipairs(budgets) do
    local day, name, amount, daily = unpack(budget)
    local before = tonumber(field(day, name)) or 0
    if before >= daily then admitted[#admitted + 1] = name end
    if amount > 0 then
      setField(day, name, digits(before + amount))
      keepFor(day, budgetKeptMs)
    end
  end
  return admitted
end

while i <= #ARGV do answers[#answers + 1] = admit() end
writeFields()

local sightings = {}
if isAnyIn then
  local since = ARGV[1] == '-' and '-' or '(' .. ARGV[1]
  for _, entry in ipairs(redis.call('XRANGE', KEYS[6], since, '+', 'COUNT', 16)) do
    sightings[#sightings + 1] = entry[1] .. ' ' .. entry[2][2]
  end
end
return { revisions, table.concat(sightings, '\n'), agents, answers }
