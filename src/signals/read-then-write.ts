import type { Call, CarriedRead, Signal } from '../call.ts';
import type { SignalEngine } from './engine.ts';

const namedMax = 4;

/** Does it carry out of the organisation what the same agent was answered a moment before? */
export const readThenWrite: SignalEngine = {
  name: 'correlation',
  weigh: (call) => signalOf(call, 'READ_THEN_WRITE', (it) => it.read.agentId === call.identity?.agentId),
};

/** The same of what another agent of the tenant was answered. */
export const crossAgent: SignalEngine = {
  name: 'correlation',
  weigh: (call) => signalOf(call, 'CROSS_AGENT_EXFIL', (it) => it.read.agentId !== call.identity?.agentId),
};

/** Word for word it is certain; that data of the same class goes out may be all in a day's work. */
const scoreOf = { content: 1, class: 0.5 } as const;

function signalOf(call: Call, name: string, isMeant: (carried: CarriedRead) => boolean): Signal | undefined {
  if (call.carriedReads.length === 0) return undefined;
  const carried = call.carriedReads.filter(isMeant);
  if (carried.length === 0) return undefined;
  const by = carried.some((it) => it.by === 'content') ? 'content' : 'class';
  const reads = carried.filter((it) => it.by === by).slice(-namedMax);
  const traces = reads.map(
    ({ read }) => `${read.traceId} (${read.classes.join(', ') || 'a sensitive tool'})`,
  );
  const what =
    by === 'content' ? 'it carries the content of an answer' : 'it carries data of the class of an answer';
  const whose = name === 'READ_THEN_WRITE' ? 'to this agent' : `to agent ${reads[0]?.read.agentId}`;
  return {
    engine: 'correlation',
    name,
    score: scoreOf[by],
    details: `${what} ${whose} outside the organisation: trace ${traces.join(', ')}; written by trace ${call.traceId}`,
  };
}
