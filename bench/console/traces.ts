import { hash } from 'node:crypto';
import { derivedId, newId, newTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { toLine } from '../../src/state/journal/line.ts';
import type { RecordedCall, Store } from '../../src/state/store.ts';

/* A day of traces, in which most names are common and a few are rare. */

export const tenantId = 'bench';
const dayMs = 86_400_000;
const spanMs = dayMs - 60_000;
export const firstMs = Date.now() - spanMs;
export const agentIds = Array.from({ length: 40 }, (_, at) => derivedId(hash('sha256', `agent ${at}`)));
const keyId = newId();
const tools = Array.from({ length: 30 }, (_, at) => `tool_${at}`);
/** Among all traces these are a handful. */
const rare = (at: number): boolean => at % 250_000 === 125_000;

function traceOf(at: number, traces: number): RecordedCall {
  const atMs = firstMs + Math.floor((at * spanMs) / traces);
  const traceId = newTraceId(atMs);
  const agentId = agentIds[(at * 7) % agentIds.length] ?? '';
  const tool = tools[(at * 11) % tools.length] ?? '';
  const decision =
    at % 50 === 0 ? 'DENY' : at % 97 === 0 ? 'REQUIRE_APPROVAL' : at % 20 === 0 ? 'SANITIZE' : 'ALLOW';
  const isFound = decision !== 'ALLOW';
  const line = JSON.stringify({
    trace_id: traceId,
    at: new Date(atMs).toISOString(),
    tenant_id: tenantId,
    env_name: 'default',
    agent_id: agentId,
    key_id: keyId,
    key_prefix: 'iv_live_0abc',
    agent_name: `worker-${at % agentIds.length}`,
    client_address: '10.0.0.7',
    entrance: 'forward',
    method: at % 3 === 0 ? 'POST' : 'GET',
    url: `https://api.${tool}.example.com/v1/projects/${at % 997}/items/${traceId.slice(-12)}`,
    body_bytes: at % 4_096,
    tool_name: tool,
    operation: rare(at) ? 'drop_database' : `list_items_${at % 120}`,
    verb: at % 3 === 0 ? 'WRITE' : 'READ',
    decision,
    risk_score: (at % 100) / 100,
    risk_band: at % 50 === 0 ? 'HIGH' : at % 20 === 0 ? 'MEDIUM' : 'LOW',
    reason_codes: rare(at) ? ['MASS_ACTION'] : isFound ? ['SECRETS', 'PII'] : ['POLICY_ALLOW'],
    classifications: rare(at) ? ['PHI'] : isFound ? ['SECRETS', 'PII'] : [],
    tags: rare(at) ? ['quarterly'] : at % 100 === 0 ? ['nightly'] : [],
    explanation: ['Rule "r1" of the policy "baseline" decides: the tool is one of those that it names.'],
  });
  const destination = ownName(`api.${tool}.example.com`);
  return {
    traceId,
    tenantId,
    agentId,
    keyId,
    atMs,
    decision,
    outcome: 'call',
    destination,
    line: ownName(line),
  };
}

/** Stores so many of them. */
export async function fill(store: Store, traces: number): Promise<void> {
  const began = performance.now();
  // As many as a daemon ships at once in a quarter of a second, more or less: each second has its own chunks anyway.
  const perBatch = 500;
  for (let at = 0; at < traces; at += perBatch) {
    const calls = Array.from({ length: Math.min(perBatch, traces - at) }, (_, nth) =>
      traceOf(at + nth, traces),
    );
    await store.recordCalls({
      lines: new TextEncoder().encode(calls.map(toLine).join('')),
      mayRepeat: false,
    });
  }
  console.log(`${traces} traces of a day are stored in ${((performance.now() - began) / 1000).toFixed(0)} s`);
}
