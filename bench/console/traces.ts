import { hash } from 'node:crypto';
import { derivedId, newId } from '../../src/core/ids.ts';
import { toLine } from '../../src/state/journal/line.ts';
import type { RecordedCall, Store } from '../../src/state/store.ts';
import { recordOf } from '../trace-record.ts';

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
  const agentId = agentIds[(at * 7) % agentIds.length] ?? '';
  const decision =
    at % 50 === 0 ? 'DENY' : at % 97 === 0 ? 'REQUIRE_APPROVAL' : at % 20 === 0 ? 'SANITIZE' : 'ALLOW';
  const isFound = decision !== 'ALLOW';
  return recordOf({
    ...{ at, tenantId, agent: at % agentIds.length, agentId, keyId, decision },
    atMs: firstMs + Math.floor((at * spanMs) / traces),
    tool: tools[(at * 11) % tools.length] ?? '',
    more: {
      operation: rare(at) ? 'drop_database' : `list_items_${at % 120}`,
      risk_band: at % 50 === 0 ? 'HIGH' : at % 20 === 0 ? 'MEDIUM' : 'LOW',
      reason_codes: rare(at) ? ['MASS_ACTION'] : isFound ? ['SECRETS', 'PII'] : ['POLICY_ALLOW'],
      classifications: rare(at) ? ['PHI'] : isFound ? ['SECRETS', 'PII'] : [],
      tags: rare(at) ? ['quarterly'] : at % 100 === 0 ? ['nightly'] : [],
    },
  });
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
