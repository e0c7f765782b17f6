import type { OperationPart } from '../core/call.ts';
import { type SafeName, safely } from '../core/safe-name.ts';
import type { Opinion } from './opinion.ts';
import { stricter } from './posture.ts';

/* A call that does several things is sent or refused as a whole. The strictest opinion on them counts. */

/**
 * Returns the strictest opinion on a call and its parts. `whole` is the opinion on the call itself. All cuts,
 * tags and escalations of the other opinions are kept.
 */
export function strictestOpinion(
  whole: Opinion,
  parts: readonly OperationPart[],
  opinionOn: (part: OperationPart) => Opinion,
  nameOf: (part: OperationPart) => SafeName,
): Opinion {
  let strictest = whole;
  const opinions = parts.map((part) => {
    const opinion = opinionOn(part);
    if (stricter(opinion.decision, strictest.decision))
      strictest = ofPart(opinion, nameOf(part), parts.length);
    return opinion;
  });
  const all = [whole, ...opinions];
  const cutting = all.filter(({ decision, alsoSanitize }) => decision === 'SANITIZE' || alsoSanitize);
  return {
    ...strictest,
    cuts: distinct((cutting.length > 0 ? cutting : [strictest]).flatMap(({ cuts }) => cuts)),
    alsoSanitize: cutting.length > 0,
    tags: distinct(all.flatMap(({ tags }) => tags)),
    escalateTo: distinct(all.flatMap(({ escalateTo }) => escalateTo)),
    matched: distinct(all.flatMap(({ matched }) => matched)),
    incidents: distinct(all.flatMap(({ incidents }) => incidents)),
    wouldBe: all
      .map(({ wouldBe }) => wouldBe)
      .reduce((most, it) => (it !== undefined && (most === undefined || stricter(it, most)) ? it : most)),
  };
}

const ofPart = (opinion: Opinion, name: SafeName, count: number): Opinion => ({
  ...opinion,
  explanation: [
    safely`Of ${count} things that the call does at once, ${name} decides.`,
    ...opinion.explanation,
  ],
});

/**
 * Returns the distinct items. An incident of several parts is one, because causes are compared by their
 * content.
 */
function distinct<T>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((it) => [typeof it === 'string' ? it : JSON.stringify(it), it])).values()];
}
