-- Takes finished calls of one tenant. A call counts if its id is new here: the same calls again change nothing.
--
-- KEYS  1 index of traces, 2 uses of credentials, then the days of budgets, then for each call its trace, and of its agent the numbers, the destinations, the history
--       and the marks
-- ARGV  1 ms that a trace is kept  2 id before which traces have gone  3 destinations that an agent may have  4 days of budgets
--       5, 6 terms of trust: parts, calls  7 ms that the history of an agent is kept
--       then for each call: id, ms, decision, size class, how many names it has touched (0 where it was not let out) and these, trace, name of its credential or '', how many
--       marks and of each parts and text, how many charges it gives back, and for each of those the number of its day in KEYS, name, amount

local keptMs, destinationsMax, trustParts, trustCalls = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[5]), tonumber(ARGV[6])

local function touch(known, ms, names)
  for _, name in ipairs(names) do redis.call('ZADD', known, 'NX', ms, name) end
  if redis.call('ZCARD', known) > destinationsMax then
    redis.call('ZREMRANGEBYRANK', known, 0, math.floor(destinationsMax / 8) - 1)
  end
end

local at, i = 3 + tonumber(ARGV[4]), 8
local function take()
  i = i + 1
  return ARGV[i - 1]
end
local function takeMany(width)
  local list = {}
  for _ = 1, tonumber(take()) * width do list[#list + 1] = take() end
  return list
end

while i <= #ARGV do
  local id, ms, decision, sizeClass = take(), tonumber(take()), take(), tonumber(take())
  local names, line, credential, marks, charges = takeMany(1), take(), take(), takeMany(2), takeMany(3)
  local trace, agent, known, history, against = unpack(KEYS, at, at + 4)
  if redis.call('SET', trace, line, 'PX', keptMs, 'NX') then
    redis.call('ZADD', KEYS[1], 0, id)
    local seen = redis.call('HMGET', agent, 'first', 'last')
    if not seen[1] or ms < tonumber(seen[1]) then redis.call('HSET', agent, 'first', digits(ms)) end
    if not seen[2] or ms > tonumber(seen[2]) then redis.call('HSET', agent, 'last', digits(ms)) end
    redis.call('HINCRBY', agent, 'total', 1)
    grow(agent, decision, math.floor(ms / 3600000), 24)
    if credential ~= '' then
      redis.call('HINCRBY', KEYS[2], 'uses ' .. credential, 1)
      local used = redis.call('HGET', KEYS[2], 'last ' .. credential)
      if not used or ms > tonumber(used) then redis.call('HSET', KEYS[2], 'last ' .. credential, digits(ms)) end
    end
    if #names > 0 then
      touch(known, ms, names)
      addToHabits(history, ms, sizeClass)
    end
    addToTrust(history, ms, #names > 0 and #marks == 0, trustParts, trustCalls)
    for mark = 1, #marks, 2 do markTrust(history, against, tonumber(marks[mark]), marks[mark + 1]) end
    for _, key in ipairs({ history, against, known }) do redis.call('PEXPIRE', key, ARGV[7]) end
    for charge = 1, #charges, 3 do
      local day, name, amount = KEYS[tonumber(charges[charge])], charges[charge + 1], tonumber(charges[charge + 2])
      local used = redis.call('HGET', day, name)
      if used then redis.call('HSET', day, name, digits(math.max(0, tonumber(used) - amount))) end
    end
  end
  at = at + 5
end
-- A few more than come: what has gathered while nobody called must not hold up everybody at once.
local gone = redis.call('ZRANGE', KEYS[1], '-', '(' .. ARGV[2], 'BYLEX', 'LIMIT', 0, 1024)
if #gone > 0 then redis.call('ZREM', KEYS[1], unpack(gone)) end
return 1
