import type { Verdict } from '../core/call.ts';

/**
 * The reason why a denial is the gateway's own doing. The call took too long to read (`time`), or the state
 * was away.
 */
type Excuse = 'time' | 'state';

/** The reason codes that stand first where a call, or what is left of it after the cut, could not be read. */
const unread: ReadonlySet<string | undefined> = new Set(['UNREADABLE', 'UNSANITIZABLE']);

/** Returns why a denial is not held against the agent; undefined where it is, and for other decisions. */
export function excuseOf(
  { isOutOfTime, isDegraded }: { readonly isOutOfTime: boolean; readonly isDegraded: boolean },
  { decision, reasonCodes }: Pick<Verdict, 'decision' | 'reasonCodes'>,
): Excuse | undefined {
  if (decision !== 'DENY') return undefined;
  if (isOutOfTime && unread.has(reasonCodes[0])) return 'time';
  return isDegraded ? 'state' : undefined;
}
