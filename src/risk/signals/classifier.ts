import { type Confidence, type DataClass, dataClasses, type Finding } from '../../core/call.ts';
import { ownName } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

const scoreOf: Readonly<Record<DataClass, Readonly<Record<Confidence, number>>>> = {
  SECRETS: { high: 1, medium: 0.8, low: 0 },
  PHI: { high: 0.8, medium: 0.6, low: 0 },
  PII: { high: 0.6, medium: 0.4, low: 0 },
  INTERNAL: { high: 0.5, medium: 0.4, low: 0 },
};

const ownScore = (finding: Finding): number =>
  finding.atHome ? 0 : scoreOf[finding.class][finding.confidence];

const none: readonly Finding[] = [];

/** Reports how sensitive the data in the call is. The gravest finding counts, credentials at home do not. */
export const classifier: SignalEngine = {
  name: 'classifier',
  assess(call) {
    const sensitive = call.findings.length === 0 ? none : call.findings.filter((it) => ownScore(it) > 0);
    if (sensitive.length === 0) return undefined;
    let score = 0;
    const kinds = new Map<DataClass, Set<string>>();
    for (const finding of sensitive) {
      score = Math.max(score, ownScore(finding));
      const seen = kinds.get(finding.class);
      if (seen) seen.add(finding.kind);
      else kinds.set(finding.class, new Set([finding.kind]));
    }
    const details = dataClasses
      .filter((name) => kinds.has(name))
      .map((name) => `${name}: ${[...(kinds.get(name) ?? [])].slice(0, 8).join(', ')}`)
      .join('; ');
    return { engine: 'classifier', name: 'SENSITIVE_DATA', score, details: ownName(details) };
  },
};
