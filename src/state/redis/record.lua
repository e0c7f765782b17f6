-- Takes finished calls of one tenant. A call counts if its id is new here: the same calls again change nothing.
--
-- KEYS  1 index of traces, then the days of budgets, then for each call its trace, the numbers of its agent, the destinations of its agent
-- ARGV  1 ms that a trace is kept  2 id before which traces have gone  3 destinations that an agent may have  4 days of budgets
--       then for each call: id, ms, decision, destination or '' where it was not let out, trace, how many charges it gives back, and for
--       each of those the number of its day in KEYS, name, amount

local keptMs, destinationsMax = ARGV[1], tonumber(ARGV[3])
local at, i = 2 + tonumber(ARGV[4]), 5
while i <= #ARGV do
  local id, ms, decision, destination, line, charges = unpack(ARGV, i, i + 5)
  local next = i + 6 + 3 * tonumber(charges)
  if redis.call('SET', KEYS[at], line, 'PX', keptMs, 'NX') then
    redis.call('ZADD', KEYS[1], 0, id)
    local agent = KEYS[at + 1]
    local seen = redis.call('HMGET', agent, 'first', 'last')
    if not seen[1] or tonumber(ms) < tonumber(seen[1]) then redis.call('HSET', agent, 'first', ms) end
    if not seen[2] or tonumber(ms) > tonumber(seen[2]) then redis.call('HSET', agent, 'last', ms) end
    redis.call('HINCRBY', agent, 'total', 1)
    grow(agent, decision, math.floor(tonumber(ms) / 3600000), 24)
    if destination ~= '' then
      local known = KEYS[at + 2]
      redis.call('ZADD', known, 'NX', ms, destination)
      if redis.call('ZCARD', known) > destinationsMax then
        redis.call('ZREMRANGEBYRANK', known, 0, math.floor(destinationsMax / 8) - 1)
      end
    end
    for charge = i + 6, next - 1, 3 do
      local day, name, amount = KEYS[tonumber(ARGV[charge])], ARGV[charge + 1], tonumber(ARGV[charge + 2])
      local used = redis.call('HGET', day, name)
      if used then redis.call('HSET', day, name, digits(math.max(0, tonumber(used) - amount))) end
    end
  end
  at, i = at + 3, next
end
-- A few more than come: what has gathered while nobody called must not hold up everybody at once.
local gone = redis.call('ZRANGE', KEYS[1], '-', '(' .. ARGV[2], 'BYLEX', 'LIMIT', 0, 1024)
if #gone > 0 then redis.call('ZREM', KEYS[1], unpack(gone)) end
return 1
