import { examine, unknownKey } from '../rules/admission.ts';
import { charged, none } from '../rules/budgets.ts';
import type { Admission, AdmitRequest } from '../store.ts';
import type { Agents } from './agents.ts';
import type { Budgets } from './counts/budgets.ts';
import type { History } from './counts/history.ts';
import type { Numbers } from './counts/numbers.ts';
import type { Destinations } from './destinations.ts';
import type { KnownKeys } from './known-keys.ts';
import type { McpTools } from './mcp-tools.ts';

interface AdmitParts {
  readonly keys: Pick<KnownKeys, 'find'>;
  readonly agents: Pick<Agents, 'find'>;
  readonly numbers: Numbers;
  readonly destinations: Destinations;
  readonly budgets: Budgets;
  readonly history: Pick<History, 'habitsOf' | 'trustOf' | 'sightingsOf'>;
  readonly mcpTools: Pick<McpTools, 'concernsOf'>;
}

const nobodyKnown: Admission = { ...unknownKey, identity: undefined };

/** Returns `Store.admit`. It runs in one turn of the event loop and is therefore atomic. */
export function createAdmit(parts: AdmitParts) {
  const { keys, agents, numbers, destinations, budgets, history, mcpTools } = parts;
  return function admit(request: AdmitRequest): Admission {
    const { keyHash, nowMs, agentId, mcp, toolName, mutations = 0 } = request;
    const known = keys.find(keyHash);
    if (!known) return nobodyKnown;
    const { holder } = known;
    const { key } = holder;
    const named = agentId === undefined || agentId === key.agentId ? undefined : agents.find(agentId);
    const examined = examine(holder, named, request);
    if (!examined.ok && examined.code === 'IP_NOT_ALLOWED') numbers.block(key.keyId, nowMs);
    if (!examined.ok && examined.code !== 'UNKNOWN_AGENT') return examined;
    const terms = request.termsOf(key.tenantId);
    if (!terms) return { ...unknownKey, identity: examined.identity };
    if (!examined.ok) {
      const taken = numbers.take(key, terms, nowMs, 'nothing');
      return taken.ok ? examined : { ...taken, identity: examined.identity };
    }
    const { identity, agentStatus, scopeViolations } = examined;
    // All that may fail comes before anything is taken.
    const isNew = (name: string): boolean => !destinations.isKnown(identity.agentId, name);
    const isNewDestination = isNew(request.destination);
    const newNames = request.names?.filter(isNew) ?? none;
    const trust = history.trustOf(identity.agentId);
    const charges = (request.counts === 'call' && request.chargesOf?.(identity)) || none;
    const exceededBudgets = charges.length === 0 ? none : budgets.exceeded(key.tenantId, charges);
    const toolConcerns = mcp ? mcpTools.concernsOf(key.tenantId, mcp, nowMs) : none;
    const taken = numbers.take(key, terms, nowMs, request.counts);
    if (!taken.ok) return { ...taken, identity };
    if (charges.length > 0) budgets.charge(key.tenantId, charges);
    known.validAtMs = nowMs;
    return {
      ok: true,
      key,
      identity,
      agentStatus,
      isNewDestination,
      exceededBudgets,
      charges: charges.length === 0 ? none : charged(charges),
      toolConcerns,
      newNames,
      habits: history.habitsOf(identity.agentId, {
        nowMs,
        toolName,
        mutations,
        isCounted: request.counts === 'call',
      }),
      trust,
      sightings: history.sightingsOf(key.tenantId, nowMs),
      scopeViolations,
      scansUsed: taken.scansUsed,
    };
  };
}
