import { hash } from 'node:crypto';

/*
 * Names of keys in Redis. All keys of a tenant share its hash tag, so that in a cluster they lie on one node and a script may touch
 * them together. What comes from outside stands in a name as it is only where it is harmless; else its hash stands there.
 */

const harmless = /^[A-Za-z0-9_-]{1,64}$/;
const safe = (text: string): string => (harmless.test(text) ? text : `sha256.${hash('sha256', text)}`);

export interface TenantNames {
  readonly revisions: string;
  readonly keys: string;
  /** Places of ephemeral keys, by their ends. */
  readonly keyEnds: string;
  /** Records of agents, and under `suspension` what suspends them all. */
  readonly agents: string;
  readonly policies: string;
  readonly policyVersions: string;
  readonly approvals: string;
  /** Places of approvals, by when they count no more. */
  readonly approvalEnds: string;
  /** Ids of approvals that are pending, by their ends. */
  readonly pending: string;
  readonly incidents: string;
  readonly credentials: string;
  readonly routes: string;
  /** By name how often each was used, and when last. */
  readonly credentialUses: string;
  /** Records of MCP servers, and what stands against their tools. */
  readonly mcpServers: string;
  readonly audit: string;
  readonly numbers: string;
  readonly nonces: string;
  readonly sightings: string;
  readonly traces: string;
  /** Ids in the order of time. */
  indexOf(records: 'keys' | 'agents' | 'approvals' | 'incidents' | 'mcp'): string;
  pendingOf(agentId: string): string;
  /** Ids of the key's ephemeral keys that live, by their ends. */
  childrenOf(keyId: string): string;
  keyNumbers(keyId: string): string;
  agentNumbers(agentId: string): string;
  destinations(agentId: string): string;
  /** What is usual for the agent, and what its trust has come to. */
  history(agentId: string): string;
  /** What was held against the agent. */
  marks(agentId: string): string;
  /** Times of the agent's last writes to the tool. */
  mutations(agentId: string, toolName: string): string;
  /** What the agent has begun to send to the host. */
  tails(agentId: string, host: string): string;
  /** What was charged to budgets on that day. */
  budgets(day: string): string;
  trace(traceId: string): string;
  scans(traceId: string): string;
  noncesOf(keyId: string): string;
}

export interface Names {
  /** Tenant and key behind a key's hash. */
  keyHash(keyHash: string): string;
  /** The tenant of an agent. */
  agent(agentId: string): string;
  /** The tenant of an inbound route. */
  route(prefix: string): string;
  readonly tenants: string;
  of(tenantId: string): TenantNames;
}

export function createNames(prefix: string): Names {
  const of = (tenantId: string): TenantNames => {
    const tag = `${prefix}{${safe(tenantId)}}:`;
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
      credentialUses: `${tag}credentials:uses`,
      mcpServers: `${tag}mcp`,
      audit: `${tag}audit`,
      numbers: `${tag}numbers`,
      nonces: `${tag}nonces`,
      sightings: `${tag}sightings`,
      traces: `${tag}traces`,
      indexOf: (records) => `${tag}${records}:by-time`,
      pendingOf: (agentId) => `${tag}approvals:pending:${safe(agentId)}`,
      childrenOf: (keyId) => `${tag}keys:of:${safe(keyId)}`,
      keyNumbers: (keyId) => `${tag}key:${safe(keyId)}`,
      agentNumbers: (agentId) => `${tag}agent:${safe(agentId)}`,
      destinations: (agentId) => `${tag}destinations:${safe(agentId)}`,
      history: (agentId) => `${tag}history:${safe(agentId)}`,
      marks: (agentId) => `${tag}marks:${safe(agentId)}`,
      mutations: (agentId, toolName) => `${tag}mutations:${safe(agentId)}:${safe(toolName)}`,
      tails: (agentId, host) => `${tag}tails:${safe(agentId)}:${safe(host)}`,
      budgets: (day) => `${tag}budgets:${safe(day)}`,
      trace: (traceId) => `${tag}trace:${safe(traceId)}`,
      scans: (traceId) => `${tag}scans:${safe(traceId)}`,
      noncesOf: (keyId) => `${tag}nonces:${safe(keyId)}`,
    };
  };
  return {
    keyHash: (keyHash) => `${prefix}hash:${safe(keyHash)}`,
    agent: (agentId) => `${prefix}agent:${safe(agentId)}`,
    route: (routePrefix) => `${prefix}route:${safe(routePrefix)}`,
    tenants: `${prefix}tenants`,
    of,
  };
}
