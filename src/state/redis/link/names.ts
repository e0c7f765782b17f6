import { hash } from 'node:crypto';
import type { AnswerFact } from '../../traces/answer-facts.ts';

/*
 * Names of keys in Redis. All keys of a tenant share its hash tag. So in a cluster they lie on one node, and
 * a script may touch them together. What comes from outside stands in a name as it is only where it is
 * harmless; else its hash stands there.
 */

const harmless = /^[A-Za-z0-9_-]{1,64}$/;
const safe = (text: string): string => (harmless.test(text) ? text : `sha256.${hash('sha256', text)}`);

/** Records of a tenant that administrators and programs have set. */
const recordNames = (tag: string) => ({
  revisions: `${tag}revisions`,
  keys: `${tag}keys`,
  /** Places of ephemeral keys, by their ends. */
  keyEnds: `${tag}keys:by-end`,
  /** Ids of the key's ephemeral keys that live, by their ends. */
  childrenOf: (keyId: string) => `${tag}keys:of:${safe(keyId)}`,
  /** Records of agents, and under `suspension` what suspends them all. */
  agents: `${tag}agents`,
  policies: `${tag}policies`,
  policyVersions: `${tag}policies:versions`,
  incidents: `${tag}incidents`,
  credentials: `${tag}credentials`,
  routes: `${tag}routes`,
  sessions: `${tag}sessions`,
  /** Records of MCP servers, and what stands against their tools. */
  mcpServers: `${tag}mcp`,
  audit: `${tag}audit`,
  /** How far the sources of notices have been read, and of which usage was told. */
  told: `${tag}told`,
  approvals: `${tag}approvals`,
  /** Places of approvals, by when they count no more. */
  approvalEnds: `${tag}approvals:by-end`,
  /** Ids of approvals that are pending, by their ends. */
  pending: `${tag}approvals:pending`,
  pendingOf: (agentId: string) => `${tag}approvals:pending:${safe(agentId)}`,
  /** Ids in the order of time. */
  indexOf: (records: 'keys' | 'agents' | 'approvals' | 'incidents' | 'mcp') => `${tag}${records}:by-time`,
});

/** Facts that come of a tenant's calls: numbers, the past of agents, homes of credentials, and traces. */
const callNames = (tag: string) => ({
  numbers: `${tag}numbers`,
  /** Uses and last use of each credential, by name. */
  credentialUses: `${tag}credentials:uses`,
  nonces: `${tag}nonces`,
  noncesOf: (keyId: string) => `${tag}nonces:${safe(keyId)}`,
  keyNumbers: (keyId: string) => `${tag}key:${safe(keyId)}`,
  agentNumbers: (agentId: string) => `${tag}agent:${safe(agentId)}`,
  /** Charges to budgets on that day. */
  budgets: (day: string) => `${tag}budgets:${safe(day)}`,
  /** Counts of calls in the bucket of that length that begins then. */
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
  /** Credentials by when their homes end. */
  homeEnds: `${tag}homes:by-end`,
  /** Credentials that the agent was the first to use, by when their homes end. */
  homeEndsOf: (agentId: string) => `${tag}homes:of:${safe(agentId)}`,
  /** Seconds that have traces. */
  windows: `${tag}traces`,
  /** Places of the chunks that came last. */
  arrivals: `${tag}traces:arrivals`,
  /** The ids of a second's traces, and the traces. */
  traceIds: (second: number) => `${tag}traces:ids:${second}`,
  chunks: (second: number) => `${tag}traces:${second}`,
  scans: (traceId: string) => `${tag}scans:${safe(traceId)}`,
  /** Traces that have scans with the fact, by their seconds. */
  answered: (fact: AnswerFact) => `${tag}answered:${fact}`,
});

export type CallNames = ReturnType<typeof callNames>;
export type TenantNames = ReturnType<typeof recordNames> & CallNames;

/** The queue of notices, which is one for all tenants. */
const noticeNames = (tag: string) => ({
  messages: `${tag}messages`,
  texts: `${tag}texts`,
  channels: `${tag}channels`,
  windows: `${tag}windows`,
  windowEnds: `${tag}windows:by-end`,
  /** Notices put into the queue, by their time. */
  ids: `${tag}ids`,
  /** Ids of a channel's messages, by when they are due. */
  due: (channel: string) => `${tag}due:${channel}`,
  /** Messages of the channel that were given up, by their time. */
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
    // No tenant has a dot and no more than this in its tag.
    this.notices = noticeNames(`${prefix}{notices.}:`);
    this.format = `${prefix}format`;
    this.tenants = `${prefix}tenants`;
    this.approvalTenants = `${prefix}approvals:tenants`;
  }

  /** Tenant and key behind a key's hash. */
  keyHash(keyHash: string): string {
    return `${this.#prefix}hash:${safe(keyHash)}`;
  }

  /** The tenant of an agent. */
  agent(agentId: string): string {
    return `${this.#prefix}agent:${safe(agentId)}`;
  }

  /** The tenant of an inbound route. */
  route(routePrefix: string): string {
    return `${this.#prefix}route:${safe(routePrefix)}`;
  }

  of(tenantId: string): TenantNames {
    const tag = `${this.#prefix}{${safe(tenantId)}}:`;
    return { ...recordNames(tag), ...callNames(tag) };
  }
}
