import type { TrustMark } from '../../core/history.ts';
import { joined, ownName, type SafeName, safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

/** The trust below which the calls of an agent are judged more strictly. */
export const trustMin = 0.6;
const namedMax = 4;

/** Reports lost trust. The trust itself changes each score (`trustModifier`), and the signal says why. */
export const lowTrust: SignalEngine = {
  name: 'trust',
  assess({ history: { trustScore, trustMarks } }) {
    if (trustScore >= trustMin) return undefined;
    return {
      engine: 'trust',
      name: 'LOW_TRUST',
      score: Math.round((1 - trustScore) * 100) / 100,
      details: safely`trust in the agent is ${trustScore}; last held against it: ${lastOf(trustMarks)}`,
    };
  },
};

const nameOf = {
  denial: 'a denied call',
  'analyst-denial': 'a denial by an analyst',
  threat: 'a hit in a threat feed',
  anomaly: 'an anomaly',
} as const;

const lastOf = (marks: readonly TrustMark[]): SafeName =>
  marks.length === 0 ? safely`nothing` : joined(marks.slice(-namedMax).map(describeMark), ', ');

/** Returns a mark in the form that traces, answers and agents see. */
export const describeMark = ({ cause, parts, atMs, traceId }: TrustMark): SafeName =>
  ownName(`${nameOf[cause]} (-${parts / 10_000}, ${new Date(atMs).toISOString()}, trace ${traceId})`);
