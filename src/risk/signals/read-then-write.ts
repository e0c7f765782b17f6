import type { CarriedRead, InspectedCall, RiskEvidence, Signal } from '../../core/call.ts';
import { joined, ownName, type SafeName, safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

const namedMax = 4;

/** Reports a call that carries out of the organisation what the same agent was answered a moment before. */
export const readThenWrite: SignalEngine = {
  name: 'correlation',
  assess: (call, evidence) => signalOf(call, evidence, 'READ_THEN_WRITE'),
};

/** Reports a call that carries out of the organisation what another agent of the tenant was answered. */
export const crossAgent: SignalEngine = {
  name: 'correlation',
  assess: (call, evidence) => signalOf(call, evidence, 'CROSS_AGENT_EXFIL'),
};

/**
 * Tells whether the call carries the content word for word, of an answer with more than two things of a
 * class.
 */
export const isCertain = ({ by, read }: CarriedRead): boolean => by === 'content' && read.isSlight !== true;

/**
 * Returns the score of one read. Data of the same class, or a ticket's text with one address in it, may go
 * out in a day's work.
 */
const scoreOf = (carried: CarriedRead): number => (isCertain(carried) ? 1 : 0.5);

function signalOf(
  { traceId, identity }: InspectedCall,
  { carriedReads }: RiskEvidence,
  name: 'READ_THEN_WRITE' | 'CROSS_AGENT_EXFIL',
): Signal | undefined {
  if (carriedReads.length === 0) return undefined;
  const isOwn = ({ read }: CarriedRead): boolean => read.agentId === identity.agentId;
  const carried = carriedReads.filter((it) => isOwn(it) === (name === 'READ_THEN_WRITE'));
  if (carried.length === 0) return undefined;
  const score = Math.max(...carried.map(scoreOf));
  const reads = carried.filter((it) => scoreOf(it) === score).slice(-namedMax);
  const traces = reads.map(({ read }) =>
    ownName(`${read.traceId} (${read.classes.join(', ') || 'a sensitive tool'})`),
  );
  const what = reads.some((it) => it.by === 'content')
    ? safely`it carries the content of an answer`
    : safely`it carries data of the class of an answer`;
  const written = safely`written by trace ${ownName(traceId)}`;
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
