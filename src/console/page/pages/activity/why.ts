import type { TraceRow } from '../../../../api/answers.ts';
import { reasonWord } from '../../data/words.ts';
import { decisionWord } from '../../kit/bits.tsx';

/** Returns in a few words what decided; '' for a call that nothing stood against. */
export function whyOf({ decision, would_be, reason_codes: [first] = [], rule_id: rule }: TraceRow): string {
  if (would_be !== undefined) return `Would be ${decisionWord(would_be).toLowerCase()}`;
  if (decision === 'ALLOW' || first === undefined) return '';
  return first.startsWith('POLICY_') && rule !== undefined ? `Rule ${rule}` : reasonWord(first);
}
