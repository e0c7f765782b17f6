-- Counts by periods (months, hours, slots) in a hash. Each period has the field <name><period % size> with the text
-- "<period>:<count>", so that a count takes the place of the one a round ago and nothing ever grows.

local function count(key, name, period, size)
  local field = name .. string.format('%.0f', period % size)
  local standing = redis.call('HGET', key, field)
  if standing then
    local at, n = string.match(standing, '^(%d+):(%d+)$')
    if at and tonumber(at) == period then return field, tonumber(n) end
  end
  return field, 0
end

local function grow(key, name, period, size)
  local field, n = count(key, name, period, size)
  redis.call('HSET', key, field, string.format('%.0f:%.0f', period, n + 1))
  return n + 1
end

local function digits(n) return string.format('%.0f', n) end
