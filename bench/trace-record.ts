import { newTraceId } from '../src/core/ids.ts';
import { ownName } from '../src/core/safe-name.ts';
import type { RecordedCall } from '../src/state/store.ts';

export interface BenchCall
  extends Pick<RecordedCall, 'tenantId' | 'agentId' | 'keyId' | 'atMs' | 'decision'> {
  /** Its place among all calls, by which method, address and size go. */
  readonly at: number;
  /** The number of the agent in its name. */
  readonly agent: number;
  readonly tool: string;
  /** Members of the line beside those that every call has. */
  readonly more: Readonly<Record<string, unknown>>;
}

/** A call as a daemon records it; its line is about as long as those of calls that a rule has decided. */
export function recordOf({ at, agent, tool, more, ...call }: BenchCall): RecordedCall {
  const traceId = newTraceId(call.atMs);
  const line = JSON.stringify({
    trace_id: traceId,
    at: new Date(call.atMs).toISOString(),
    tenant_id: call.tenantId,
    env_name: 'default',
    agent_id: call.agentId,
    key_id: call.keyId,
    key_prefix: 'iv_live_0abc',
    agent_name: `worker-${agent}`,
    client_address: '10.0.0.7',
    entrance: 'forward',
    method: at % 3 === 0 ? 'POST' : 'GET',
    url: `https://api.${tool}.example.com/v1/projects/${at % 997}/items/${traceId.slice(-12)}`,
    body_bytes: at % 4_096,
    tool_name: tool,
    verb: at % 3 === 0 ? 'WRITE' : 'READ',
    decision: call.decision,
    risk_score: (at % 100) / 100,
    explanation: ['Rule "r1" of the policy "baseline" decides: the tool is one of those that it names.'],
    ...more,
  });
  const destination = ownName(`api.${tool}.example.com`);
  return { ...call, traceId, outcome: 'call', destination, line: ownName(line) };
}
