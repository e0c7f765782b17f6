-- Records the outcome of a claimed message, as `afterOutcome` of notice-queue.ts does. Answers 0, with
-- nothing changed, where the claim does not stand any more.
--
-- KEYS  1 messages  2 texts  3 channels  4 queue of the channel  5 its messages that were given up
-- ARGV  1 id  2 attempts  3 name of the channel  4 ms  5 ms of the claim
--       6 delivered, released, retry or dead
--       retry: 7 ms when due  8 reason  9 ms until when the channel is paused  10 failures from which it is
--              11 ms of the pause, at least  12 at most
--       dead: 7 whether the channel has answered  8 reason  9 how many are kept

local messages, texts, channels, queue, dead = unpack(KEYS, 1, 5)
local id, name, now, kind = ARGV[1], ARGV[3], tonumber(ARGV[4]), ARGV[6]
local standing = redis.call('ZSCORE', queue, id) and redis.call('HGET', messages, id)
local message = standing and cjson.decode(standing)
if not message or message.p == 1 or message.a ~= tonumber(ARGV[2]) then return 0 end

local function note(field, value) redis.call('HSET', channels, field .. ' ' .. name, value) end
local function known(field) return tonumber(redis.call('HGET', channels, field .. ' ' .. name) or 0) end
local function isWell()
  note('failures', 0)
  note('paused', 0)
end
local function hasFailed(reason)
  note('failed', digits(now))
  note('error', reason)
end

if kind == 'delivered' then
  isWell()
  note('ok', digits(now))
  redis.call('HINCRBY', channels, 'delivered ' .. name, 1)
  redis.call('ZREM', queue, id)
  redis.call('HDEL', messages, id)
  redis.call('HDEL', texts, id)
elseif kind == 'released' then
  message.a = message.a - 1
  if known('failures') > 0 then note('paused', digits(now)) end
  redis.call('HSET', messages, id, cjson.encode(message))
  redis.call('ZADD', queue, now, id)
elseif kind == 'dead' then
  if ARGV[7] == '1' then isWell() end
  hasFailed(ARGV[8])
  buryMessage(messages, texts, queue, dead, id, message, now, ARGV[8], tonumber(ARGV[9]))
else
  local failures = known('failures')
  if failures == 0 or tonumber(ARGV[5]) >= known('failed') then failures = failures + 1 end
  local over = failures - tonumber(ARGV[10])
  local pauseMs = over < 0 and 0 or math.min(tonumber(ARGV[12]), tonumber(ARGV[11]) * 2 ^ math.min(over, 30))
  note('failures', failures)
  note('paused', digits(math.max(tonumber(ARGV[9]), pauseMs == 0 and 0 or now + pauseMs)))
  hasFailed(ARGV[8])
  redis.call('ZADD', queue, ARGV[7], id)
end
return 1
