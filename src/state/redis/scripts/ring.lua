-- Counts by periods (months, hours, slots) in a hash. Each period has the field <name><period % size> with
-- the text "<period>:<count>". So a count takes the place of the one a round ago, and the hash does not grow.

local function count(key, name, period, size)
  local place = name .. string.format('%.0f', period % size)
  local standing = field(key, place)
  if standing then
    local at, n = string.match(standing, '^(%d+):(%d+)$')
    if at and tonumber(at) == period then return place, tonumber(n) end
  end
  return place, 0
end

local function grow(key, name, period, size)
  local place, n = count(key, name, period, size)
  setField(key, place, string.format('%.0f:%.0f', period, n + 1))
  return n + 1
end

local function digits(n) return string.format('%.0f', n) end

local function addToField(key, name, n)
  local sum = (tonumber(field(key, name)) or 0) + n
  setField(key, name, digits(sum))
  return sum
end
