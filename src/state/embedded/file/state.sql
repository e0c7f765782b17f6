-- `state.db`: what is acknowledged.

-- Step 1
CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  registered_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE agents (
  agent_id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX agents_by_tenant ON agents (tenant_id);

CREATE TABLE keys (
  key_id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  tenant_id TEXT NOT NULL,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX keys_by_tenant ON keys (tenant_id);

-- env_name '' stands for all environments: NULL would not be equal to itself.
CREATE TABLE policies (
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL,
  env_name TEXT NOT NULL,
  version INTEGER NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (tenant_id, name, env_name, version)
) STRICT;

CREATE TABLE approvals (
  approval_id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  call_hash TEXT NOT NULL,
  status TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX approvals_pending ON approvals (tenant_id, call_hash, expires_at_ms) WHERE status = 'pending';

CREATE TABLE audit (
  tenant_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  entry TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (tenant_id, seq)
) STRICT;
CREATE TRIGGER audit_keeps_entries BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_loses_nothing BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;

-- Step 2
-- Lists go by the time of creation, which the record holds.
ALTER TABLE keys ADD COLUMN created_at_ms INTEGER GENERATED ALWAYS AS (json_extract(record, '$.createdAtMs')) VIRTUAL;
DROP INDEX keys_by_tenant;
CREATE INDEX keys_by_time ON keys (tenant_id, created_at_ms, key_id);

ALTER TABLE agents ADD COLUMN created_at_ms INTEGER GENERATED ALWAYS AS (json_extract(record, '$.createdAtMs')) VIRTUAL;
DROP INDEX agents_by_tenant;
CREATE INDEX agents_by_time ON agents (tenant_id, created_at_ms, agent_id);

-- A pending approval counts until it expires, a decided one as long as the decision does.
ALTER TABLE approvals ADD COLUMN created_at_ms INTEGER GENERATED ALWAYS AS (json_extract(record, '$.createdAtMs')) VIRTUAL;
ALTER TABLE approvals ADD COLUMN counts_until_ms INTEGER GENERATED ALWAYS AS (
  coalesce(json_extract(record, '$.countsUntilMs'), json_extract(record, '$.expiresAtMs'))
) VIRTUAL;
DROP INDEX approvals_pending;
CREATE INDEX approvals_standing ON approvals (tenant_id, call_hash, counts_until_ms);
CREATE INDEX approvals_by_time ON approvals (tenant_id, created_at_ms, approval_id);

CREATE TABLE incidents (
  incident_id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  record TEXT NOT NULL,
  agent_id TEXT GENERATED ALWAYS AS (json_extract(record, '$.agentId')) VIRTUAL,
  cause TEXT GENERATED ALWAYS AS (json_extract(record, '$.trigger')) VIRTUAL,
  severity TEXT GENERATED ALWAYS AS (json_extract(record, '$.severity')) VIRTUAL,
  status TEXT GENERATED ALWAYS AS (json_extract(record, '$.status')) VIRTUAL,
  opened_at_ms INTEGER GENERATED ALWAYS AS (json_extract(record, '$.openedAtMs')) VIRTUAL
) STRICT;
CREATE INDEX incidents_by_time ON incidents (tenant_id, opened_at_ms, incident_id);
CREATE INDEX incidents_standing ON incidents (tenant_id, agent_id, cause) WHERE status <> 'closed';

CREATE TABLE credentials (
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (tenant_id, name)
) STRICT;

CREATE TABLE response_scans (
  tenant_id TEXT NOT NULL,
  trace_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  scan TEXT NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, number)
) STRICT;

ALTER TABLE audit ADD COLUMN kind TEXT GENERATED ALWAYS AS (
  CASE WHEN json_valid(entry) THEN json_extract(entry, '$.kind') END
) VIRTUAL;
ALTER TABLE audit ADD COLUMN subject TEXT GENERATED ALWAYS AS (
  CASE WHEN json_valid(entry) THEN json_extract(entry, '$.subject') END
) VIRTUAL;
CREATE INDEX audit_by_kind ON audit (tenant_id, kind, seq);
CREATE INDEX audit_by_subject ON audit (tenant_id, subject, seq);

-- What is written to find out whether the disk takes anything again.
CREATE TABLE probe (written INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (0);

-- Step 3
-- How many are pending, of the tenant and of the agent, is asked whenever one is opened.
ALTER TABLE approvals ADD COLUMN agent_id TEXT GENERATED ALWAYS AS (json_extract(record, '$.agentId')) VIRTUAL;
CREATE INDEX approvals_pending ON approvals (tenant_id, expires_at_ms) WHERE status = 'pending';
CREATE INDEX approvals_pending_of_agent ON approvals (tenant_id, agent_id, expires_at_ms) WHERE status = 'pending';

-- A denial stands for the call of every agent that its key names.
ALTER TABLE approvals ADD COLUMN denial_hash TEXT GENERATED ALWAYS AS (json_extract(record, '$.denialHash')) VIRTUAL;
CREATE INDEX approvals_denied ON approvals (tenant_id, denial_hash, counts_until_ms) WHERE status = 'denied';

-- Whenever an ephemeral key is made, the live ones of its parent are counted, and some of those go that ended long ago.
ALTER TABLE keys ADD COLUMN type TEXT GENERATED ALWAYS AS (json_extract(record, '$.type')) VIRTUAL;
ALTER TABLE keys ADD COLUMN parent_key_id TEXT GENERATED ALWAYS AS (json_extract(record, '$.parentKeyId')) VIRTUAL;
ALTER TABLE keys ADD COLUMN expires_at_ms INTEGER GENERATED ALWAYS AS (json_extract(record, '$.expiresAtMs')) VIRTUAL;
ALTER TABLE keys ADD COLUMN revoked_at_ms INTEGER GENERATED ALWAYS AS (json_extract(record, '$.revokedAtMs')) VIRTUAL;
CREATE INDEX keys_by_end ON keys (tenant_id, expires_at_ms) WHERE type = 'ephemeral';
CREATE INDEX keys_by_parent ON keys (parent_key_id, expires_at_ms) WHERE revoked_at_ms IS NULL;

-- Step 4
CREATE TABLE mcp_servers (
  server_id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  record TEXT NOT NULL,
  seen_at_ms INTEGER GENERATED ALWAYS AS (json_extract(record, '$.seenAtMs')) VIRTUAL
) STRICT;
CREATE INDEX mcp_servers_by_time ON mcp_servers (tenant_id, seen_at_ms, server_id);

-- Step 5
-- Tenants all of whose agents are suspended.
CREATE TABLE suspensions (
  tenant_id TEXT PRIMARY KEY,
  record TEXT NOT NULL
) STRICT;

-- Step 6
-- Routes that were made through the API.
CREATE TABLE inbound_routes (prefix TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX inbound_routes_by_tenant ON inbound_routes (tenant_id);

-- Step 7
-- Who asks for approvals as many agents has no more of them pending than who asks as one.
ALTER TABLE approvals ADD COLUMN own_agent_id TEXT GENERATED ALWAYS AS (
  coalesce(json_extract(record, '$.ownAgentId'), json_extract(record, '$.agentId'))
) VIRTUAL;
DROP INDEX approvals_pending_of_agent;
CREATE INDEX approvals_pending_of_agent ON approvals (tenant_id, own_agent_id, expires_at_ms) WHERE status = 'pending';

-- What has expired is looked for whatever its tenant.
CREATE INDEX approvals_ending ON approvals (expires_at_ms) WHERE status = 'pending';

-- Step 8
-- Messages to channels: those that wait, by when they are due, and those that were given up.
CREATE TABLE notice_messages (
  id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  owner TEXT,
  due_at_ms INTEGER NOT NULL,
  dead_at_ms INTEGER,
  record TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX notice_messages_due ON notice_messages (channel, due_at_ms) WHERE dead_at_ms IS NULL;
CREATE INDEX notice_messages_dead ON notice_messages (dead_at_ms, id) WHERE dead_at_ms IS NOT NULL;
CREATE INDEX notice_messages_dead_of_owner ON notice_messages (owner, dead_at_ms, id) WHERE dead_at_ms IS NOT NULL;
CREATE INDEX notice_messages_dead_of_channel ON notice_messages (channel, dead_at_ms, id) WHERE dead_at_ms IS NOT NULL;
CREATE TABLE notice_channels (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE notice_windows (name TEXT PRIMARY KEY, ends_at_ms INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX notice_windows_by_end ON notice_windows (ends_at_ms);
-- What was put into the queue lately, in that order.
CREATE TABLE notice_ids (place INTEGER PRIMARY KEY, notice_id TEXT NOT NULL UNIQUE) STRICT;
-- How far the sources of notices have been read.
CREATE TABLE notices_told (
  tenant_id TEXT NOT NULL,
  source TEXT NOT NULL,
  place INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, source)
) STRICT, WITHOUT ROWID;
CREATE TABLE usage_alerts (
  tenant_id TEXT NOT NULL,
  period_ms INTEGER NOT NULL,
  percent INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, period_ms, percent)
) STRICT, WITHOUT ROWID;

-- Step 9
-- Where credentials without a vendor are at home; both are keyed hashes.
CREATE TABLE homes (
  tenant_id TEXT NOT NULL,
  credential TEXT NOT NULL,
  home TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  ends_at_ms INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, credential)
) STRICT, WITHOUT ROWID;
CREATE INDEX homes_by_end ON homes (tenant_id, ends_at_ms);
CREATE INDEX homes_by_agent ON homes (agent_id);

-- Step 10
-- Sessions of the console. Only hashes of what opens them are here.
CREATE TABLE sessions (
  tenant_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (tenant_id, session_id)
) STRICT, WITHOUT ROWID;

-- Step 11
-- Calls are looked for by what came back on them (traces/answer-facts.ts).
ALTER TABLE response_scans ADD COLUMN injection INTEGER GENERATED ALWAYS AS (
  CASE WHEN json_valid(scan) THEN json_extract(scan, '$.injection.detected') END
) VIRTUAL;
ALTER TABLE response_scans ADD COLUMN blocked INTEGER GENERATED ALWAYS AS (
  CASE WHEN json_valid(scan) THEN json_array_length(scan, '$.blocked') END
) VIRTUAL;
ALTER TABLE response_scans ADD COLUMN redacted INTEGER GENERATED ALWAYS AS (
  CASE WHEN json_valid(scan) THEN json_array_length(scan, '$.redacted') END
) VIRTUAL;
CREATE INDEX response_scans_injection ON response_scans (tenant_id, trace_id) WHERE injection > 0;
CREATE INDEX response_scans_blocked ON response_scans (tenant_id, trace_id) WHERE blocked > 0;
CREATE INDEX response_scans_redacted ON response_scans (tenant_id, trace_id) WHERE redacted > 0;

-- Step 12
-- Calls that were let out and got no answer are looked for as well.
ALTER TABLE response_scans ADD COLUMN failed INTEGER GENERATED ALWAYS AS (
  CASE WHEN json_valid(scan) THEN json_type(scan, '$.failure') = 'text' END
) VIRTUAL;
CREATE INDEX response_scans_failed ON response_scans (tenant_id, trace_id) WHERE failed > 0;
