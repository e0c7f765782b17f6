import { hash } from 'node:crypto';
import type { Call, Finding } from '../call.ts';

/** Shorter texts that were found are in many names. */
const foundLengthMin = 4;

/**
 * The call's destination as answers, traces and the store may have it: by its hash where something was found in it. A host, a channel
 * or a repository can carry a secret as well as a body.
 */
export function shownDestination(call: Call): string {
  const { destination } = call;
  if (!showsFinding(call, destination)) return destination;
  const kind = destination.slice(0, destination.indexOf(':'));
  return `${kind}:sha256:${hash('sha256', destination)}`;
}

/** Whether a name that was made of the call shows something that was found in it. */
export const showsFinding = (call: Call, name: string): boolean =>
  call.findings.some((it) => isInHost(call, it) || name.includes(textOf(call, it)));

/** Decoded, or in several labels. */
function isInHost({ target: { scheme, host, href } }: Call, { part, start, end }: Finding): boolean {
  const from = href.indexOf(host, scheme.length);
  return part === 'head' && from >= 0 && start < from + host.length && end > from;
}

function textOf(call: Call, { part, start, end }: Finding): string {
  const bytes = part === 'head' ? call.head : (call.plain ?? call.body);
  const text = bytes.toString('utf8', start, end);
  return text.length < foundLengthMin ? '\0' : text;
}
