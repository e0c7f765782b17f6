-- Adds a mark against an agent. Answers 0, with nothing changed, where the tenant has no such agent, or the
-- mark is an anomaly too many.
--
-- KEYS  1 history of the agent  2 marks against it  3 agents
-- ARGV  1 id of the agent  2 ms  3 parts that an idle hour brings back  4 parts that are lost  5 mark

if not redis.call('HGET', KEYS[3], ARGV[1]) then return 0 end
if isOneTooMany(KEYS[2], ARGV[5]) then return 0 end
addToTrust(KEYS[1], tonumber(ARGV[2]), false, tonumber(ARGV[3]), 1e15)
markTrust(KEYS[1], KEYS[2], tonumber(ARGV[4]), ARGV[5])
writeFields()
return 1
