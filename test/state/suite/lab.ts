import type { Test } from 'tap';
import { newId } from '../../../src/core/ids.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import type {
  Admission,
  AdmitRequest,
  AgentRecord,
  AuditEvent,
  KeyRecord,
  Paged,
  Store,
  TenantTerms,
} from '../../../src/state/store.ts';
import { agentRecord, auditEvent, keyRecord, noonMs, unlimited } from '../records.ts';

/** What a driver says of itself. */
export interface SuiteHints {
  /** Whose clock counts: the one that `admit` is given, or that of a server. Then only what holds by any clock is looked at. */
  readonly clock: 'argument' | 'server';
  /** A second store on the same state as the first, where the driver can be on many nodes. */
  readonly openNode?: () => Promise<Store>;
  /** It runs the scripts of a single Redis, where `ofScripts` asks. */
  readonly isCluster?: boolean;
}

export type OpenStore = () => Promise<Store>;

/** One part of the contract. `lab` has a store of its own. */
export type SuitePart = (t: Test, lab: Lab) => Promise<void>;

/** A store, and what makes tenants in it that know nothing of each other. */
export interface Lab {
  readonly store: Store;
  readonly hints: SuiteHints;
  tenant(terms?: Partial<TenantTerms>, store?: Store): Promise<Tenant>;
}

/** A tenant with an agent; `terms` are what its plan grants from now on. */
export interface Tenant {
  readonly tenantId: string;
  readonly agent: AgentRecord;
  terms: TenantTerms;
  key(fields?: Partial<KeyRecord>): Promise<KeyRecord>;
  agentOf(fields?: Partial<AgentRecord>): Promise<AgentRecord>;
  admit(key: KeyRecord, fields?: Partial<AdmitRequest>): Promise<Admission>;
  /** Asks that often at once; answers how many calls were let in. */
  admitMany(times: number, key: KeyRecord, fields?: Partial<AdmitRequest>): Promise<number>;
  event(fields?: Partial<AuditEvent>): AuditEvent;
}

type RunTest = (name: string, run: (t: Test) => Promise<void>) => Promise<unknown>;

/** Tests what scripts reckon and where their bounds are: not anew on a Cluster, whose own matter is on which node a key lies. */
export const ofScripts = (t: Test, { isCluster }: SuiteHints): RunTest =>
  isCluster ? async () => undefined : (name, run) => t.test(name, run);

/** Opens a store that the test closes. */
export async function openLab(t: Test, open: OpenStore, hints: SuiteHints): Promise<Lab> {
  const own = await open();
  t.teardown(() => own.close());
  return {
    store: own,
    hints,
    async tenant(given = {}, store = own) {
      const tenantId = `t-${newId()}`;
      const agentOf = (fields: Partial<AgentRecord> = {}) =>
        store.ensureAgent(agentRecord({ tenantId, ...fields }));
      const agent = await agentOf();
      const event = (fields: Partial<AuditEvent> = {}) => auditEvent({ tenantId, ...fields });
      const tenant: Tenant = {
        tenantId,
        agent,
        terms: { ...unlimited, ...given },
        agentOf,
        event,
        async key(fields = {}) {
          const key = keyRecord({ tenantId, agentId: agent.agentId, ...fields });
          await store.addKey(key, event({ subject: key.keyId }));
          return key;
        },
        async admit(key, fields = {}) {
          return store.admit(admitRequest(tenant, key, fields));
        },
        async admitMany(times, key, fields) {
          const asked = Array.from({ length: times }, () => tenant.admit(key, fields));
          return (await Promise.all(asked)).filter((it) => it.ok).length;
        },
      };
      return tenant;
    },
  };
}

export function admitRequest(
  { tenantId, terms }: Pick<Tenant, 'tenantId' | 'terms'>,
  key: KeyRecord,
  fields: Partial<AdmitRequest> = {},
): AdmitRequest {
  return {
    keyHash: key.hash,
    nowMs: noonMs,
    agentId: undefined,
    envName: undefined,
    clientAddress: '198.51.100.7',
    destination: 'api.example.com',
    toolName: ownName('github'),
    verb: 'READ',
    counts: 'call',
    termsOf: (asked) => (asked === tenantId ? terms : undefined),
    ...fields,
  };
}

/** Everything of a list, page by page, as a client would walk it. */
export async function walk<T>(
  t: Test,
  limit: number,
  list: (page: { limit: number; cursor: string | undefined }) => Promise<Paged<T>>,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 500; pages += 1) {
    const { items, nextCursor } = await list({ limit, cursor });
    if (items.length > limit) t.fail(`a page has ${items.length} items where ${limit} were asked for`);
    all.push(...items);
    if (nextCursor === null) return all;
    cursor = nextCursor;
  }
  t.fail('the list has no end');
  return all;
}

export const rubbishCursors = [
  '',
  'x',
  'AAAA',
  '%%%',
  "' OR 1=1 --",
  '\0',
  'é',
  'e30',
  'W10',
  'x'.repeat(5_000),
];

export const firstPage = { limit: 1_000, cursor: undefined } as const;

/** Newest first: no time is followed by a later one. */
export const isFalling = (times: readonly number[]): boolean =>
  times.every((time, at) => at === 0 || time <= (times[at - 1] ?? 0));
