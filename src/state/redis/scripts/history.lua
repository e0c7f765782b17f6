-- Keeps the habits and the trust of an agent in a hash, by the steps of habits.ts and trust.ts. `marks` is a
-- list beside it.

local windowsMax, marksMax = 1008, 32
local anomaliesMax, dayMs = 5, 86400000
local windowMs, hourMs = 600000, 3600000
local habitFields = { 'calls', 'first', 'window', 'inWindow', 'windows', 'sized', 'sizeSum', 'sizeSquares' }

local function numbersOf(key, names)
  local known, numbers = readFields(key, names), {}
  for _, name in ipairs(names) do numbers[name] = tonumber(known[name]) or 0 end
  return numbers
end

local function putNumbers(key, names, numbers)
  for _, name in ipairs(names) do setField(key, name, digits(numbers[name])) end
end

local function halveHabits(key, it)
  for _, name in ipairs({ 'calls', 'windows', 'sized', 'sizeSum', 'sizeSquares' }) do
    it[name] = math.floor(it[name] / 2)
  end
  for hour = 0, 23 do
    local name = 'hour' .. hour
    setField(key, name, digits(math.floor((tonumber(field(key, name)) or 0) / 2)))
  end
end

-- Adds a call that was let out.
local function addToHabits(key, ms, sizeClass)
  local it = numbersOf(key, habitFields)
  local window = math.floor(ms / windowMs)
  if window > it.window then
    if it.windows >= windowsMax then halveHabits(key, it) end
    it.window, it.windows, it.inWindow = window, it.windows + 1, 0
  end
  if window == it.window then it.inWindow = it.inWindow + 1 end
  it.calls = it.calls + 1
  if it.first == 0 or ms < it.first then it.first = ms end
  if sizeClass > 0 then
    if it.sized >= 20 then sizeClass = math.min(sizeClass, math.floor(it.sizeSum / it.sized + 0.5) + 24) end
    it.sized = it.sized + 1
    it.sizeSum = it.sizeSum + sizeClass
    it.sizeSquares = it.sizeSquares + sizeClass * sizeClass
  end
  putNumbers(key, habitFields, it)
  addToField(key, 'hour' .. math.floor(ms / hourMs) % 24, 1)
end

-- Answers the numbers of `Habits`, in their order, as far as they are kept here.
local function habitsAt(key, ms)
  local it = numbersOf(key, habitFields)
  local hour = math.floor(ms / hourMs) % 24
  local around = 0
  local hours = { 'hour' .. (hour + 23) % 24, 'hour' .. hour, 'hour' .. (hour + 1) % 24 }
  for _, count in pairs(numbersOf(key, hours)) do around = around + count end
  local windows, windowCalls = it.windows, it.calls
  if it.windows > 0 and it.window == math.floor(ms / windowMs) then
    windows, windowCalls = windows - 1, windowCalls - it.inWindow
  end
  local numbers = { it.calls, it.first, around, it.sized, it.sizeSum, it.sizeSquares, windows, windowCalls }
  for i, number in ipairs(numbers) do numbers[i] = digits(number) end
  return table.concat(numbers, ',')
end

local trustMax = 10000
local trustFields = { 'trust', 'clean', 'at' }

local function trustOf(key)
  local known = readFields(key, trustFields)
  return { trust = tonumber(known.trust) or trustMax, clean = tonumber(known.clean) or 0, at = tonumber(known.at) or 0 }
end

-- Adds a call. `isClean` says that it was let out and has no marks. `parts` and `calls` say how trust comes
-- back.
local function addToTrust(key, ms, isClean, parts, calls)
  local it = trustOf(key)
  local idleHours = 0
  if it.at > 0 then idleHours = math.max(0, math.floor((ms - it.at) / hourMs)) end
  local clean = it.clean
  if isClean then clean = clean + 1 end
  local runs = math.floor(clean / calls)
  it.trust = math.min(trustMax, math.min(trustMax, it.trust + idleHours * parts) + runs * parts)
  it.clean = clean - runs * calls
  it.at = math.max(it.at, ms)
  putNumbers(key, trustFields, it)
end

-- Tells whether a day's anomalies have taken all that they may, and this mark is one more.
local function isOneTooMany(marks, mark)
  if string.sub(mark, 1, 10) ~= '["anomaly"' then return false end
  local ms, count = cjson.decode(mark)[3], 0
  for _, text in ipairs(redis.call('LRANGE', marks, 0, -1)) do
    local earlier = cjson.decode(text)
    if earlier[1] == 'anomaly' and ms - earlier[3] < dayMs then count = count + 1 end
  end
  return count >= anomaliesMax
end

local function markTrust(key, marks, parts, mark)
  if isOneTooMany(marks, mark) then return end
  local it = trustOf(key)
  it.trust, it.clean = math.max(0, it.trust - parts), 0
  putNumbers(key, trustFields, it)
  -- What is left stands last in the mark: `leftParts`.
  redis.call('RPUSH', marks, string.sub(mark, 1, -2) .. ',' .. digits(it.trust) .. ']')
  redis.call('LTRIM', marks, -marksMax, -1)
end
