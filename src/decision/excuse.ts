import type { Verdict } from '../core/call.ts';

/** Why a denial is the gateway's own doing: it had no time to read the call, or had to judge it without the state. */
type Excuse = 'time' | 'state';

/** Reasons that stand first where a call, or what is left of it after the cut, could not be read. */
const unread: ReadonlySet<string | undefined> = new Set(['UNREADABLE', 'UNSANITIZABLE']);

/** Answers why a denial is not held against the agent. Undefined where it is, and for every other decision. */
export function excuseOf(
  { isOutOfTime, isDegraded }: { readonly isOutOfTime: boolean; readonly isDegraded: boolean },
  { decision, reasonCodes }: Pick<Verdict, 'decision' | 'reasonCodes'>,
): Excuse | undefined {
  if (decision !== 'DENY') return undefined;
  if (isOutOfTime && unread.has(reasonCodes[0])) return 'time';
  return isDegraded ? 'state' : undefined;
}
