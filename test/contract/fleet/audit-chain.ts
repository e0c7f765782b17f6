import { hash } from 'node:crypto';

/** An entry as `GET /v1/audit` shows it. */
export interface ShownEntry {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly operator: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly previous: string;
  readonly hash: string;
}

/**
 * What is wrong with the chain of a tenant, made anew of nothing but what the list shows; undefined where all is well. `entries` are
 * all of them, newest first.
 */
export function chainProblem(tenantId: string, entries: readonly ShownEntry[]): string | undefined {
  let previous = '0'.repeat(64);
  for (const [at, entry] of entries.toReversed().entries()) {
    if (entry.seq !== at + 1) return `entry ${entry.seq} stands where ${at + 1} should`;
    if (entry.previous !== previous) return `entry ${entry.seq} does not follow the one before`;
    if (hash('sha256', textOf(tenantId, entry)) !== entry.hash) return `entry ${entry.seq} is altered`;
    previous = entry.hash;
  }
  return undefined;
}

/** The canonical JSON (RFC 8785) that an entry is hashed as; its members stand in the order of their names. */
function textOf(
  tenantId: string,
  { at, details, kind, operator, previous, seq, subject }: ShownEntry,
): string {
  const members = { at_ms: Date.parse(at), details: sorted(details), kind, operator, previous, seq, subject };
  return JSON.stringify({ ...members, tenant_id: tenantId });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, inner]) => [name, sorted(inner)]));
}
