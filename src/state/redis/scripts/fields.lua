-- Keeps hashes as this script sees them. A field is read once. `writeFields` writes all that has changed at
-- the end, once a key.

local texts, changed, lives = {}, {}, {}
-- The values that are unpacked at once. Lua unpacks no more than some thousands.
local valuesMax = 1000

local function readFields(key, names)
  local known = texts[key]
  if not known then
    known = {}
    texts[key] = known
  end
  local missing = {}
  for _, name in ipairs(names) do
    if known[name] == nil then missing[#missing + 1] = name end
  end
  for from = 1, #missing, valuesMax do
    local to = math.min(#missing, from + valuesMax - 1)
    local found = redis.call('HMGET', key, unpack(missing, from, to))
    for i = from, to do known[missing[i]] = found[i - from + 1] end
  end
  return known
end

-- Answers the text of a field, or false where there is none.
local function field(key, name)
  local known = texts[key]
  if known and known[name] ~= nil then return known[name] end
  return readFields(key, { name })[name]
end

local function setField(key, name, text)
  local names = changed[key]
  if not names then
    names = {}
    changed[key] = names
    texts[key] = texts[key] or {}
  end
  texts[key][name] = text
  names[name] = true
end

-- Lets a key go so many milliseconds after this script.
local function keepFor(key, ms) lives[key] = ms end

local function writeFields()
  for key, names in pairs(changed) do
    local values = {}
    for name in pairs(names) do
      values[#values + 1] = name
      values[#values + 1] = texts[key][name]
    end
    for from = 1, #values, valuesMax do
      redis.call('HSET', key, unpack(values, from, math.min(#values, from + valuesMax - 1)))
    end
  end
  for key, ms in pairs(lives) do redis.call('PEXPIRE', key, ms) end
end
