-- Gives up messages that have been due for long.
--
-- KEYS  1 messages  2 texts  3 channels  4 queue of the channel  5 its messages that were given up
-- ARGV  1 name of the channel  2 ms  3 due before  4 reason  5 how many  6 how many are kept
--       7 '' where the channel must be failing, or ms since when nobody has claimed

local messages, texts, channels, queue, dead = unpack(KEYS, 1, 5)
local name, now = ARGV[1], tonumber(ARGV[2])
local function known(field) return tonumber(redis.call('HGET', channels, field .. ' ' .. name) or 0) end
if not redis.call('HGET', channels, 'owner ' .. name) then return 0 end
if ARGV[7] == '' and known('failures') == 0 then return 0 end
if ARGV[7] ~= '' and known('claimed') > tonumber(ARGV[7]) then return 0 end
local ids = redis.call('ZRANGE', queue, '-inf', ARGV[3], 'BYSCORE', 'LIMIT', 0, ARGV[5])
for _, id in ipairs(ids) do
  buryMessage(messages, texts, queue, dead, id, cjson.decode(redis.call('HGET', messages, id)), now, ARGV[4], tonumber(ARGV[6]))
end
if ARGV[7] ~= '' and redis.call('ZCARD', queue) == 0 and redis.call('ZCARD', dead) == 0 then
  for _, field in ipairs({ 'owner', 'delivered', 'dropped', 'failures', 'paused', 'ok', 'failed', 'error', 'claimed', 'full' }) do
    redis.call('HDEL', channels, field .. ' ' .. name)
  end
end
return #ids
