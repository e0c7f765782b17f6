import type { Risk, Signal, Verdict } from '../../core/call.ts';
import { ownName, type SafeName, safely } from '../../core/safe-name.ts';

/* The verdict as its agent may see it. Details on other agents stand only in the trace. */

/** Returns a signal as a sentence of the explanation. */
export const signalSentence = ({ name, details }: Pick<Signal, 'name' | 'details'>): SafeName =>
  safely`${ownName(name)}: ${details}.`;

export const signalsForAgent = ({ signals }: Pick<Risk, 'signals'>): readonly Omit<Signal, 'shown'>[] =>
  signals.map(({ engine, name, score, details, shown }) => ({
    engine,
    name,
    score,
    details: shown ?? details,
  }));

/** Returns the explanation of a verdict for the agent. */
export function explanationForAgent(
  { signals }: Pick<Risk, 'signals'>,
  { explanation }: Pick<Verdict, 'explanation'>,
): readonly SafeName[] {
  const told = new Map<string, SafeName>();
  for (const { name, details, shown } of signals)
    if (shown !== undefined)
      told.set(signalSentence({ name, details }), signalSentence({ name, details: shown }));
  return told.size === 0 ? explanation : explanation.map((it) => told.get(it) ?? it);
}
