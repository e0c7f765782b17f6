import type { ApprovalRecord } from '../../state/store.ts';

/* Says what an approval lets through, in sentences for the person who is about to give it. */

/** Sentences on what a grant covers: one call, or every identical call of the window. */
interface Coverage {
  readonly once: string;
  readonly window: string;
  /** The length of the window, such as `10 minutes`. */
  readonly lasts: string;
}

/** Returns sentences on what a grant of each scope would cover, from now on for `windowMs`. */
export function coverageOf(approval: ApprovalRecord, windowMs: number): Coverage {
  const { method, url, agentName, envName, bodyBytes, opensWebSocket, fields = [] } = approval;
  const body = bodyBytes === 0 ? 'without a body' : `with exactly this body of ${bodyBytes} bytes`;
  const headers = fields.length === 0 ? '' : ` and the headers ${fields.map((it) => `“${it}”`).join(', ')}`;
  const call = `${method} ${url} ${body}${headers}, by the agent ${agentName} in ${envName}`;
  const span = inWords(windowMs);
  const more = opensWebSocket ? ' It opens a connection; each message on it is judged by itself.' : '';
  const others = `Another agent, URL, body or method asks again.${more}`;
  return {
    once: `One call, if it comes within ${span}: ${call}. ${others}`,
    window: `Every identical call for ${span}: ${call}. ${others}`,
    lasts: span,
  };
}

const units = [
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** Returns a duration in the largest unit in which it is a whole number. */
function inWords(ms: number): string {
  const [name, lengthMs] = units.find(([, it]) => ms >= it && ms % it === 0) ?? ['second', 1_000];
  const count = Math.round(ms / lengthMs);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}
