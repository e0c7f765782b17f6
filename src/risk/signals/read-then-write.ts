import type { Call, CarriedRead, Signal } from '../../core/call.ts';
import { joined, ownName, type SafeName, safely } from '../../core/safe-name.ts';
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

/** Tells whether it is the content word for word, of an answer with more than one or two things of a class. */
export const isCertain = ({ by, read }: CarriedRead): boolean => by === 'content' && read.isSlight !== true;

/** That data of the same class goes out, or the text of a ticket with one address in it, may be all in a day's work. */
const scoreOf = (carried: CarriedRead): number => (isCertain(carried) ? 1 : 0.5);

function signalOf(call: Call, name: string, isMeant: (carried: CarriedRead) => boolean): Signal | undefined {
  if (call.carriedReads.length === 0) return undefined;
  const carried = call.carriedReads.filter(isMeant);
  if (carried.length === 0) return undefined;
  const score = Math.max(...carried.map(scoreOf));
  const reads = carried.filter((it) => scoreOf(it) === score).slice(-namedMax);
  const traces = reads.map(({ read }) =>
    ownName(`${read.traceId} (${read.classes.join(', ') || 'a sensitive tool'})`),
  );
  const what = reads.some((it) => it.by === 'content')
    ? safely`it carries the content of an answer`
    : safely`it carries data of the class of an answer`;
  const written = safely`written by trace ${ownName(call.traceId)}`;
  const tell = (whose: SafeName, where: SafeName): SafeName =>
    safely`${what} to ${whose} outside the organisation: ${where}${written}`;
  const named = safely`trace ${joined(traces, ', ')}; `;
  if (name === 'READ_THEN_WRITE')
    return { engine: 'correlation', name, score, details: tell(safely`this agent`, named) };
  return {
    engine: 'correlation',
    name,
    score,
    details: tell(safely`agent ${ownName(reads[0]?.read.agentId ?? '')}`, named),
    shown: tell(safely`another agent`, safely``),
  };
}
