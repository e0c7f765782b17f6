-- Makes messages of notices, or adds them to messages that wait, as `placeNotice` of notice-queue.ts decides.
--
-- KEYS  1 messages  2 texts  3 channels  4 windows  5 their ends  6 ids of notices
--       then the queues of channels
-- ARGV  1 ms  2 how many ids of notices are remembered  3 how many traces a message names
--       4 ms that a window is kept  5 ms by which the clocks of nodes may differ
--       then for each notice: id, kind, tenant or '', ms, trace or '', text, how many channels, and of each
--         the number of its queue in KEYS, name, owner or '', ms of its digest, most that wait
--         id of the message, window

local messages, texts, channels, windows, windowEnds, ids = unpack(KEYS, 1, 6)
local now, idsMax, tracesMax = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local windowsKeptMs, skewMs = tonumber(ARGV[4]), tonumber(ARGV[5])
local i = 6
local function take()
  i = i + 1
  return ARGV[i - 1]
end

local function join(id, message, ms, trace)
  message.n = message.n + 1
  message.f = math.min(message.f, ms)
  message.l = math.max(message.l, ms)
  local _, named = string.gsub(message.t, '%S+', '')
  if trace ~= '' and named < tracesMax then message.t = message.t == '' and trace or message.t .. ' ' .. trace end
  redis.call('HSET', messages, id, cjson.encode(message))
end

local function place(notice, ms, text)
  local queue, name, owner, digestMs, most, id, window = KEYS[tonumber(take())], take(), take(), tonumber(take()), tonumber(take()), take(), take()
  if not notice.isNew then return end
  redis.call('HSETNX', channels, 'owner ' .. name, owner)
  local endMs, isCollecting, last = string.match(redis.call('HGET', windows, window) or '', '^(%d+) ([01]) (.+)$')
  -- A window that ends later than digest and skew was set by a clock that was ahead.
  if last and tonumber(endMs) - now > digestMs + skewMs then last = nil end
  local waiting = redis.call('ZCARD', queue)
  local standing = last and redis.call('ZSCORE', queue, last) and redis.call('HGET', messages, last)
  local message = standing and cjson.decode(standing)
  if message and message.p == 1 and (waiting >= most or (digestMs > 0 and isCollecting == '1')) then
    return join(last, message, ms, notice.trace)
  end
  if waiting >= 2 * most then return redis.call('HINCRBY', channels, 'dropped ' .. name, 1) end
  if redis.call('HGET', messages, id) then return end
  local due, nextEnd, nextCollecting = now, now + digestMs, 0
  if last and digestMs > 0 then
    local untilMs = tonumber(endMs)
    if now >= untilMs then untilMs = isCollecting == '1' and now < untilMs + digestMs and untilMs + digestMs or 0 end
    if untilMs > 0 then due, nextEnd, nextCollecting = untilMs, untilMs, 1 end
  end
  redis.call('HSET', messages, id, cjson.encode({
    c = name, o = owner, i = notice.id, k = notice.kind, e = notice.tenant, n = 1, f = ms, l = ms, t = notice.trace, q = now, a = 0, p = 1,
  }))
  redis.call('HSET', texts, id, text)
  redis.call('ZADD', queue, due, id)
  redis.call('HSET', windows, window, string.format('%.0f %d %s', nextEnd, nextCollecting, id))
  redis.call('ZADD', windowEnds, nextEnd + windowsKeptMs, window)
end

while i <= #ARGV do
  local notice = { id = take(), kind = take(), tenant = take() }
  local ms = tonumber(take())
  notice.trace = take()
  local text, count = take(), tonumber(take())
  notice.isNew = not redis.call('ZSCORE', ids, notice.id)
  if notice.isNew then redis.call('ZADD', ids, now, notice.id) end
  for _ = 1, count do place(notice, ms, text) end
end
local over = redis.call('ZCARD', ids) - idsMax
if over > 0 then redis.call('ZREMRANGEBYRANK', ids, 0, over - 1) end
return 1
