-- `traces.db`: what is recorded in batches. `lines` are those of the journal; times are those of the ids in them,
-- and lie within one second (`traces/lines.ts`).

-- Step 1
CREATE TABLE trace_chunks (
  chunk_id INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  count INTEGER NOT NULL,
  lines BLOB NOT NULL
) STRICT;
CREATE INDEX trace_chunks_by_time ON trace_chunks (tenant_id, last_ms, first_ms);

CREATE TABLE destinations (
  agent_id TEXT NOT NULL,
  destination TEXT NOT NULL,
  first_seen_at_ms INTEGER NOT NULL,
  PRIMARY KEY (agent_id, destination)
) STRICT, WITHOUT ROWID;

-- Step 2
-- Counts of a subject: an id of a tenant, key or agent. period is a month, an hour, or 0 for all time.
CREATE TABLE counters (
  subject TEXT NOT NULL,
  counter TEXT NOT NULL,
  period INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (subject, counter, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE seen (
  subject TEXT NOT NULL,
  kind TEXT NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (subject, kind)
) STRICT, WITHOUT ROWID;

-- Step 3
-- What was charged to budgets on a day in their zones; the day as text, 2026-11-21.
CREATE TABLE budgets (
  tenant_id TEXT NOT NULL,
  day TEXT NOT NULL,
  name TEXT NOT NULL,
  used REAL NOT NULL,
  PRIMARY KEY (tenant_id, day, name)
) STRICT, WITHOUT ROWID;

-- Step 4
-- What is usual for agents, and what their trust has come to, as JSON.
CREATE TABLE histories (agent_id TEXT PRIMARY KEY, habits TEXT NOT NULL, trust TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Step 5
-- Calls by minute, hour and day: by decision, reason, band, tool and agent, as JSON.
CREATE TABLE stats (
  tenant_id TEXT NOT NULL,
  interval_ms INTEGER NOT NULL,
  start_ms INTEGER NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (tenant_id, interval_ms, start_ms)
) STRICT, WITHOUT ROWID;

-- Step 6
-- Further names that searches go by, as JSON; NULL where there are counts from before.
ALTER TABLE stats ADD COLUMN names TEXT;
