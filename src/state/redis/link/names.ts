import { hash } from 'node:crypto';
import type { AnswerFact } from '../../traces/answer-facts.ts';

/*
 * Makes the names of keys in Redis. All keys of a tenant share its hash tag. So in a cluster they lie on one
 * node, and a script may use them together. What comes from outside stands in a name as it is only where it
 * is harmless; else its hash stands there.
 */

const harmless = /^[A-Za-z0-9_-]{1,64}$/;
const safe = (text: string): string => (harmless.test(text) ? text : `sha256.${hash('sha256', text)}`);

/** Returns the names of a tenant's keys for records that administrators and programs have set. */
const recordNames = (tag: string) => ({
  revisions: `${tag}revisions`,
  keys: `${tag}keys`,
  /** Places of ephemeral keys, by their ends. */
  keyEnds: `${tag}keys:by-end`,
  /** Ids of the ephemeral keys of a key that are not revoked, by their ends. */
  childrenOf: (keyId: string) => `${tag}keys:of:${safe(keyId)}`,
  /** Records of agents, and under `suspension` what suspends all of them. */
  agents: `${tag}agents`,
  policies: `${tag}policies`,
  policyVersions: `${tag}policies:versions`,
  /** Versions in the order in which they were written, each by the bytes of all up to it. */
  policyVersionSizes: `${tag}policies:versions:by-size`,
  incidents: `${tag}incidents`,
  credentials: `${tag}credentials`,
  routes: `${tag}routes`,
  sessions: `${tag}sessions`,
  /** Records of MCP servers, and the concerns about their tools. */
  mcpServers: `${tag}mcp`,
  audit: `${tag}audit`,
  /** How far the sources of notices have been read, and which usage alerts were told. */
  told: `${tag}told`,
  approvals: `${tag}approvals`,
  /** Places of approvals, by the time at which they count no more. */
  approvalEnds: `${tag}approvals:by-end`,
  /** Ids of approvals that are pending, by their ends. */
  pending: `${tag}approvals:pending`,
  pendingOf: (agentId: string) => `${tag}approvals:pending:${safe(agentId)}`,
  /** Places of records in the order of time. */
  indexOf: (records: 'keys' | 'agents' | 'approvals' | 'incidents' | 'mcp') => `${tag}${records}:by-time`,
});

/**
 * Returns the names of a tenant's keys for facts that come from its calls: numbers, habits and trust of
 * agents, homes of credentials, and traces.
 */
const callNames = (tag: string) => ({
  numbers: `${tag}numbers`,
  /** Uses and last use of each credential, by name. */
  credentialUses: `${tag}credentials:uses`,
  nonces: `${tag}nonces`,
  noncesOf: (keyId: string) => `${tag}nonces:${safe(keyId)}`,
  keyNumbers: (keyId: string) => `${tag}key:${safe(keyId)}`,
  agentNumbers: (agentId: string) => `${tag}agent:${safe(agentId)}`,
  /** Charges to budgets on a day. */
  budgets: (day: string) => `${tag}budgets:${safe(day)}`,
  /** Counts of calls in the bucket of this length that begins at this time. */
  stats: (intervalMs: number, startMs: number) => `${tag}stats:${intervalMs}:${startMs}`,
  sightings: `${tag}sightings`,
  destinations: (agentId: string) => `${tag}destinations:${safe(agentId)}`,
  /** The usual behaviour and the trust of an agent. */
  history: (agentId: string) => `${tag}history:${safe(agentId)}`,
  /** Losses of trust of the agent. */
  marks: (agentId: string) => `${tag}marks:${safe(agentId)}`,
  /** Times of the agent's last writes to the tool. */
  mutations: (agentId: string, toolName: string) => `${tag}mutations:${safe(agentId)}:${safe(toolName)}`,
  /** The homes of credentials. */
  homes: `${tag}homes`,
  /** Credentials, by the ends of their homes. */
  homeEnds: `${tag}homes:by-end`,
  /** Credentials that the agent was the first to use, by the ends of their homes. */
  homeEndsOf: (agentId: string) => `${tag}homes:of:${safe(agentId)}`,
  /** Seconds that have traces. */
  windows: `${tag}traces`,
  /** Places of the chunks that came last. */
  arrivals: `${tag}traces:arrivals`,
  /** The ids of a second's traces; `chunks` has the traces. */
  traceIds: (second: number) => `${tag}traces:ids:${second}`,
  chunks: (second: number) => `${tag}traces:${second}`,
  scans: (traceId: string) => `${tag}scans:${safe(traceId)}`,
  /** Traces that have scans with a fact, by their seconds. */
  answered: (fact: AnswerFact) => `${tag}answered:${fact}`,
});

export type CallNames = ReturnType<typeof callNames>;
export type TenantNames = ReturnType<typeof recordNames> & CallNames;

/** Returns the names of the keys of the queue of notices, which is one for all tenants. */
const noticeNames = (tag: string) => ({
  messages: `${tag}messages`,
  texts: `${tag}texts`,
  channels: `${tag}channels`,
  windows: `${tag}windows`,
  windowEnds: `${tag}windows:by-end`,
  /** Ids of notices that were put into the queue, by their time. */
  ids: `${tag}ids`,
  /** Ids of a channel's messages, by the time at which they are due. */
  due: (channel: string) => `${tag}due:${channel}`,
  /** Ids of a channel's messages that were given up, by their time. */
  dead: (channel: string) => `${tag}dead:${channel}`,
});

export type NoticeNames = ReturnType<typeof noticeNames>;

export class Names {
  /** Ids of tenants that have had approvals. */
  readonly approvalTenants: string;
  readonly tenants: string;
  /** The format of the records. */
  readonly format: string;
  readonly notices: NoticeNames;
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
    // No tenant has this tag, since a tenant's tag with a dot begins with `sha256.`.
    this.notices = noticeNames(`${prefix}{notices.}:`);
    this.format = `${prefix}format`;
    this.tenants = `${prefix}tenants`;
    this.approvalTenants = `${prefix}approvals:tenants`;
  }

  /** Returns the name of the Redis key that holds tenant and id of the key with this hash. */
  keyHash(keyHash: string): string {
    return `${this.#prefix}hash:${safe(keyHash)}`;
  }

  /** Returns one of the keys that are written to see whether Redis takes writes. */
  probe(place: number): string {
    return `${this.#prefix}probe:${place}`;
  }

  /** Returns the name of the Redis key that holds the tenant of an agent. */
  agent(agentId: string): string {
    return `${this.#prefix}agent:${safe(agentId)}`;
  }

  /** Returns the name of the Redis key that holds the tenant of an inbound route. */
  route(routePrefix: string): string {
    return `${this.#prefix}route:${safe(routePrefix)}`;
  }

  of(tenantId: string): TenantNames {
    const tag = `${this.#prefix}{${safe(tenantId)}}:`;
    return { ...recordNames(tag), ...callNames(tag) };
  }
}
