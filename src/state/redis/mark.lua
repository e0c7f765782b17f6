-- Something counts against an agent.
--
-- KEYS  1 history of the agent  2 marks against it
-- ARGV  1 parts  2 mark

markTrust(KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2])
return 1
