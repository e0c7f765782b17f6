-- Records finished calls of one tenant. A call counts if its id is new here: the same calls again change
-- nothing.
--
-- KEYS  1 index of windows  2 uses of credentials  3 arrivals, then the days of budgets
--       then for each minute of the calls: its counts, those of its hour and of its day
--       then for each window: its ids, its chunks
--       then for each agent: its numbers, destinations, history and marks
-- ARGV  1 ms that a trace is kept  2 second before which windows have gone
--       3 destinations that an agent may have  4 days of budgets  5, 6 terms of trust: parts, calls
--       7 ms that the history of an agent is kept  8 minutes  9 windows  10 names that counts may have
--       11, 12, 13 ms that counts of minutes, hours and days are kept  14 ids of all calls, 16 bytes each
--       15 agents, then each as it is counted
--       then for each window: its second, its calls as a chunk
--       then for each call:
--         all in one text: number of its agent, of its window and of its minute, ms, size class, how many
--         names it has touched (0 where it was not let out), how many reasons and other names, marks, and
--         charges to give back it has
--         decision, name of its credential or '', tool or '', band or ''
--         the touched names, the reasons and other names (each as `<dimension>:<name>`), the parts and the
--         text of each mark, for each charge the number of its day in KEYS, name, amount

local keptMs, destinationsMax, trustParts, trustCalls = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[5]), tonumber(ARGV[6])
local minutes, windows, namesMax = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local arrivalsMax = 1024

local statsAt = 4 + tonumber(ARGV[4])
local windowsAt = statsAt + 3 * minutes
local agentsAt, i = windowsAt + 2 * windows, 15
local function take()
  i = i + 1
  return ARGV[i - 1]
end
local function takeMany(count)
  local list = {}
  for n = 1, count do list[n] = take() end
  return list
end

-- Counts a call in its hour. A call that is recorded a day late must not take the place of a later hour.
local function growHour(key, name, hour)
  local at = string.match(field(key, name .. string.format('%.0f', hour % 24)) or '', '^(%d+):')
  if not at or tonumber(at) <= hour then grow(key, name, hour, 24) end
end

-- The touched names by key, each with the time of its first touch.
local touches = {}
local function touch(known, ms, names)
  local times = touches[known] or {}
  touches[known] = times
  for _, name in ipairs(names) do times[name] = math.min(times[name] or ms, ms) end
end
local function writeTouches()
  for known, times in pairs(touches) do
    for name, ms in pairs(times) do redis.call('ZADD', known, 'NX', digits(ms), name) end
    while redis.call('ZCARD', known) > destinationsMax do
      redis.call('ZREMRANGEBYRANK', known, 0, math.floor(destinationsMax / 8) - 1)
    end
  end
end

local agentNames = takeMany(tonumber(take()))
local seconds, chunks, numbers, news, repeats = {}, {}, {}, {}, {}
for w = 1, windows do
  seconds[w], chunks[w] = take(), take()
  numbers[w] = redis.call('LLEN', KEYS[windowsAt + 2 * w - 1])
  news[w], repeats[w] = {}, 0
end

-- The counts of each minute by dimension, and by the name in it.
local counts, callsOf = {}, {}
local function tally(minute, dimension, name)
  local ofMinute = counts[minute] or {}
  local names = ofMinute[dimension] or {}
  names[name] = (names[name] or 0) + 1
  ofMinute[dimension] = names
  counts[minute] = ofMinute
end
local function addCount(key, dimension, name, count)
  local field = dimension .. ':' .. name
  if redis.call('HINCRBY', key, field, count) > count or name == '' then return end
  -- The name is new here.
  if redis.call('HINCRBY', key, dimension, 1) <= namesMax then return end
  redis.call('HINCRBY', key, dimension, -1)
  redis.call('HDEL', key, field)
  redis.call('HINCRBY', key, dimension .. ':', count)
end

local callNumbers = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$'
local number = 0
while i <= #ARGV do
  local numbersOfCall = { string.match(take(), callNumbers) }
  for n, digit in ipairs(numbersOfCall) do numbersOfCall[n] = tonumber(digit) end
  local agentNumber, window, minute, ms, sizeClass, nameCount, reasonCount, markCount, chargeCount = unpack(numbersOfCall)
  local decision, credential, tool, band = take(), take(), take(), take()
  local names, reasons = takeMany(nameCount), takeMany(reasonCount)
  local marks, charges = takeMany(2 * markCount), takeMany(3 * chargeCount)
  local agent, known, history, against = unpack(KEYS, agentsAt + 4 * agentNumber - 4, agentsAt + 4 * agentNumber - 1)
  local id = string.sub(ARGV[14], 16 * number + 1, 16 * number + 16)
  local ids = KEYS[windowsAt + 2 * window - 2]
  number = number + 1
  if not field(ids, id) then
    setField(ids, id, numbers[window])
    table.insert(news[window], id)
    tally(minute, 'decision', decision)
    tally(minute, 'agent', agentNames[agentNumber])
    if tool ~= '' then tally(minute, 'tool', tool) end
    if band ~= '' then tally(minute, 'band', band) end
    for _, reason in ipairs(reasons) do tally(minute, string.match(reason, '^(%a+):(.*)$')) end
    callsOf[minute] = (callsOf[minute] or 0) + 1
    local first, last = tonumber(field(agent, 'first')), tonumber(field(agent, 'last'))
    if not first or ms < first then setField(agent, 'first', digits(ms)) end
    if not last or ms > last then setField(agent, 'last', digits(ms)) end
    addToField(agent, 'total', 1)
    growHour(agent, decision, math.floor(ms / 3600000))
    if credential ~= '' then
      addToField(KEYS[2], 'uses ' .. credential, 1)
      local used = tonumber(field(KEYS[2], 'last ' .. credential))
      if not used or ms > used then setField(KEYS[2], 'last ' .. credential, digits(ms)) end
    end
    if #names > 0 then
      touch(known, ms, names)
      addToHabits(history, ms, sizeClass)
    end
    addToTrust(history, ms, #names > 0 and #marks == 0, trustParts, trustCalls)
    for mark = 1, #marks, 2 do markTrust(history, against, tonumber(marks[mark]), marks[mark + 1]) end
    for _, key in ipairs({ history, against, known }) do keepFor(key, ARGV[7]) end
    for charge = 1, #charges, 3 do
      local day, budget, amount = KEYS[tonumber(charges[charge])], charges[charge + 1], tonumber(charges[charge + 2])
      local used = field(day, budget)
      if used then setField(day, budget, digits(math.max(0, tonumber(used) - amount))) end
    end
  else
    repeats[window] = repeats[window] + 1
  end
end
writeTouches()
writeFields()

for w = 1, windows do
  if #news[w] > 0 then
    local ids, list = KEYS[windowsAt + 2 * w - 2], KEYS[windowsAt + 2 * w - 1]
    redis.call('RPUSH', list, chunks[w])
    redis.call('PEXPIRE', ids, keptMs)
    redis.call('PEXPIRE', list, keptMs)
    redis.call('ZADD', KEYS[1], seconds[w], seconds[w])
    -- The new ones are named only where not all are new.
    local new = repeats[w] > 0 and table.concat(news[w]) or ''
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', arrivalsMax, '*', 'w', seconds[w], 'n', numbers[w], 'new', new)
    redis.call('PEXPIRE', KEYS[3], keptMs)
  end
end
for minute, dimensions in pairs(counts) do
  for place = 1, 3 do
    local key = KEYS[statsAt + 3 * (minute - 1) + place - 1]
    for dimension, names in pairs(dimensions) do
      for name, count in pairs(names) do addCount(key, dimension, name, count) end
    end
    -- `named` counts the calls all of whose names were counted. Older versions counted fewer names.
    redis.call('HINCRBY', key, 'named', callsOf[minute])
    redis.call('PEXPIRE', key, ARGV[10 + place])
  end
end
-- Removes old windows, a few more than come: those that have gathered while nobody called must not hold up
-- everybody at once.
local gone = redis.call('ZRANGE', KEYS[1], '-inf', '(' .. ARGV[2], 'BYSCORE', 'LIMIT', 0, 1024)
if #gone > 0 then redis.call('ZREM', KEYS[1], unpack(gone)) end
return 1
