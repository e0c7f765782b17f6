import { hash } from 'node:crypto';

/*
 * Names of keys in Redis. All keys of a tenant share its hash tag, so that in a cluster they lie on one node and a script may touch
 * them together. What comes from outside stands in a name as it is only where it is harmless; else its hash stands there.
 */

const harmless = /^[A-Za-z0-9_-]{1,64}$/;
const safe = (text: string): string => (harmless.test(text) ? text : `sha256.${hash('sha256', text)}`);

/** The records of a tenant: what administrators and programs have set. */
interface RecordNames {
  readonly revisions: string;
  readonly keys: string;
  /** Places of ephemeral keys, by their ends. */
  readonly keyEnds: string;
  /** Records of agents, and under `suspension` what suspends them all. */
  readonly agents: string;
  readonly policies: string;
  readonly policyVersions: string;
  readonly incidents: string;
  readonly credentials: string;
  readonly routes: string;
  readonly sessions: string;
  /** Records of MCP servers, and what stands against their tools. */
  readonly mcpServers: string;
  readonly audit: string;
  /** How far the sources of notices have been read, and of which usage was told. */
  readonly told: string;
  /** Ids in the order of time. */
  indexOf(records: 'keys' | 'agents' | 'approvals' | 'incidents' | 'mcp'): string;
  /** Ids of the key's ephemeral keys that live, by their ends. */
  childrenOf(keyId: string): string;
}

/** Approvals, and those that are pending. */
interface ApprovalNames {
  readonly approvals: string;
  /** Places of approvals, by when they count no more. */
  readonly approvalEnds: string;
  /** Ids of approvals that are pending, by their ends. */
  readonly pending: string;
  pendingOf(agentId: string): string;
}

/** Numbers that are counted up. */
export interface NumberNames {
  readonly numbers: string;
  /** Uses and last use of each credential, by name. */
  readonly credentialUses: string;
  readonly nonces: string;
  noncesOf(keyId: string): string;
  keyNumbers(keyId: string): string;
  agentNumbers(agentId: string): string;
  /** Charges to budgets on that day. */
  budgets(day: string): string;
  /** Counts of calls in the bucket of that length that begins then. */
  stats(intervalMs: number, startMs: number): string;
}

/** The past of agents, as risk is computed from it. */
interface HistoryNames {
  readonly sightings: string;
  destinations(agentId: string): string;
  /** The usual behaviour and the trust of an agent. */
  history(agentId: string): string;
  /** Losses of trust of the agent. */
  marks(agentId: string): string;
  /** Times of the agent's last writes to the tool. */
  mutations(agentId: string, toolName: string): string;
}

/** The homes of credentials, and when they end. */
interface HomeNames {
  /** The homes of credentials. */
  readonly homes: string;
  /** Credentials by when their homes end. */
  readonly homeEnds: string;
  /** Credentials that the agent was the first to use, by when their homes end. */
  homeEndsOf(agentId: string): string;
}

/** Traces, in chunks by the second. */
export interface TraceNames {
  /** Seconds that have traces. */
  readonly windows: string;
  /** Places of the chunks that came last. */
  readonly arrivals: string;
  /** The ids of a second's traces, and the traces. */
  traceIds(second: number): string;
  chunks(second: number): string;
  scans(traceId: string): string;
}

export type TenantNames = RecordNames & ApprovalNames & NumberNames & HistoryNames & HomeNames & TraceNames;

/** The queue of notices, which is one for all tenants. */
export interface NoticeNames {
  readonly messages: string;
  readonly texts: string;
  readonly channels: string;
  readonly windows: string;
  readonly windowEnds: string;
  /** Notices put into the queue, by their time. */
  readonly ids: string;
  /** Ids of a channel's messages, by when they are due. */
  due(channel: string): string;
  /** Messages of the channel that were given up, by their time. */
  dead(channel: string): string;
}

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
    const notices = `${prefix}{notices.}:`;
    this.notices = {
      messages: `${notices}messages`,
      texts: `${notices}texts`,
      channels: `${notices}channels`,
      windows: `${notices}windows`,
      windowEnds: `${notices}windows:by-end`,
      ids: `${notices}ids`,
      due: (channel) => `${notices}due:${channel}`,
      dead: (channel) => `${notices}dead:${channel}`,
    };
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
    return {
      revisions: `${tag}revisions`,
      keys: `${tag}keys`,
      keyEnds: `${tag}keys:by-end`,
      agents: `${tag}agents`,
      policies: `${tag}policies`,
      policyVersions: `${tag}policies:versions`,
      approvals: `${tag}approvals`,
      approvalEnds: `${tag}approvals:by-end`,
      pending: `${tag}approvals:pending`,
      incidents: `${tag}incidents`,
      credentials: `${tag}credentials`,
      routes: `${tag}routes`,
      sessions: `${tag}sessions`,
      credentialUses: `${tag}credentials:uses`,
      mcpServers: `${tag}mcp`,
      audit: `${tag}audit`,
      told: `${tag}told`,
      numbers: `${tag}numbers`,
      nonces: `${tag}nonces`,
      homes: `${tag}homes`,
      homeEnds: `${tag}homes:by-end`,
      sightings: `${tag}sightings`,
      windows: `${tag}traces`,
      arrivals: `${tag}traces:arrivals`,
      indexOf: (records) => `${tag}${records}:by-time`,
      pendingOf: (agentId) => `${tag}approvals:pending:${safe(agentId)}`,
      childrenOf: (keyId) => `${tag}keys:of:${safe(keyId)}`,
      keyNumbers: (keyId) => `${tag}key:${safe(keyId)}`,
      agentNumbers: (agentId) => `${tag}agent:${safe(agentId)}`,
      destinations: (agentId) => `${tag}destinations:${safe(agentId)}`,
      history: (agentId) => `${tag}history:${safe(agentId)}`,
      marks: (agentId) => `${tag}marks:${safe(agentId)}`,
      mutations: (agentId, toolName) => `${tag}mutations:${safe(agentId)}:${safe(toolName)}`,
      budgets: (day) => `${tag}budgets:${safe(day)}`,
      traceIds: (second) => `${tag}traces:ids:${second}`,
      chunks: (second) => `${tag}traces:${second}`,
      stats: (intervalMs, startMs) => `${tag}stats:${intervalMs}:${startMs}`,
      scans: (traceId) => `${tag}scans:${safe(traceId)}`,
      noncesOf: (keyId) => `${tag}nonces:${safe(keyId)}`,
      homeEndsOf: (agentId) => `${tag}homes:of:${safe(agentId)}`,
    };
  }
}
