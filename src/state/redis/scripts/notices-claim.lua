-- Claims messages that are due, as `claimable` and `afterClaim` of notice-queue.ts do.
--
-- KEYS  1 messages  2 texts  3 channels  4 windows  5 their ends, then the queues of channels
-- ARGV  1 ms  2 ms of the lease  3 ms in which a claim for a channel is noted once
--       then for each channel:
--         name, owner or '', limit, ms between two, burst, failures from which it is tried out,
--         ms for which it may be paused and a message may wait
-- Answers id, message and text of each.

local messages, texts, channels, windows, windowEnds = unpack(KEYS, 1, 5)
local now, leaseMs, notedMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local claimed = {}

local over = redis.call('ZRANGE', windowEnds, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)
for _, window in ipairs(over) do
  redis.call('HDEL', windows, window)
  redis.call('ZREM', windowEnds, window)
end

local function claim(queue, name, owner, limit, intervalMs, burst, probingMin, aheadMsMax)
  local known = redis.call('HMGET', channels, 'claimed ' .. name, 'owner ' .. name, 'paused ' .. name, 'failures ' .. name, 'full ' .. name)
  if not known[1] or now - tonumber(known[1]) >= notedMs then redis.call('HSET', channels, 'claimed ' .. name, string.format('%.0f', now)) end
  if known[2] ~= owner then redis.call('HSET', channels, 'owner ' .. name, owner) end
  local pausedMs = tonumber(known[3] or 0) - now
  if pausedMs > 0 and pausedMs <= aheadMsMax then return end
  local full = math.max(tonumber(known[5] or 0), now)
  -- A bucket that seems to lack more than it holds was written by a clock that was ahead; it counts as full.
  if full - now > intervalMs * burst then full = now end
  local isTrial = tonumber(known[4] or 0) >= probingMin
  limit = math.min(isTrial and 1 or limit, burst - math.ceil((full - now) / intervalMs))
  if limit <= 0 then return end
  local ids = redis.call('ZRANGE', queue, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  -- What is due later than any message may wait was timed by a clock that was ahead; it is due now.
  local latest = string.format('(%.0f', now + aheadMsMax)
  local ahead = #ids < limit and redis.call('ZRANGE', queue, latest, '+inf', 'BYSCORE', 'LIMIT', 0, limit - #ids) or {}
  for _, id in ipairs(ahead) do ids[#ids + 1] = id end
  for _, id in ipairs(ids) do
    local message = cjson.decode(redis.call('HGET', messages, id))
    message.a = message.a + 1
    message.p = 0
    local text = cjson.encode(message)
    redis.call('HSET', messages, id, text)
    redis.call('ZADD', queue, now + leaseMs, id)
    claimed[#claimed + 1] = id
    claimed[#claimed + 1] = text
    claimed[#claimed + 1] = redis.call('HGET', texts, id)
  end
  if #ids == 0 then return end
  redis.call('HSET', channels, 'full ' .. name, string.format('%.0f', full + #ids * intervalMs))
  if isTrial then redis.call('HSET', channels, 'paused ' .. name, string.format('%.0f', now + leaseMs)) end
end

local at = 4
for key = 6, #KEYS do
  claim(KEYS[key], ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]))
  at = at + 7
end
return claimed
