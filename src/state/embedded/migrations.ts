/*
 * The schemas, one step a version. A step that has been released is never changed; a change is a new step. Records stand as
 * JSON beside the columns that they are looked up by: what a record holds is said once, in the types of the port.
 */

/** `state.db`: what is acknowledged. */
export const stateMigrations: readonly string[] = [
  `
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
  `,
];

/**
 * `traces.db`: what is recorded in batches. `lines` are those of the journal; times are those of the ids in them, and lie within
 * one second (`traces-chunks.ts`).
 */
export const tracesMigrations: readonly string[] = [
  `
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
  `,
];
