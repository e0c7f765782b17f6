import { hash } from 'node:crypto';
import type { Finding, NamedCall } from '../../core/call.ts';
import { ownName, type SafeName } from '../../core/safe-name.ts';

/** The length from which a found text is looked for in names. Shorter texts are in many names. */
const foundLengthMin = 4;

/**
 * Returns the call's destination as answers and traces may show it. Where something was found in it, that is
 * its hash. A host, a channel or a repository can carry a secret as well as a body.
 */
export function redactedDestination(call: NamedCall): SafeName {
  const { destination } = call;
  if (showsFinding({ call, name: destination })) return hashed(destination);
  return call.safeName(destination);
}

/** Returns the destination in the form that the state keeps. */
export const keptDestination = (call: NamedCall): SafeName =>
  mayBeKept(call, call.destination) ? ownName(call.destination) : hashed(call.destination);

function hashed(destination: string): SafeName {
  const [kind = ''] = kindText.exec(destination) ?? [];
  return ownName(`${kind}sha256:${hash('sha256', destination)}`);
}

/**
 * The kind in front of a destination: a tool, `host` or a scheme. A scheme may be anything that the caller
 * chose. One that is long or odd is hashed with the rest.
 */
const kindText = /^\w{1,32}:/;

/** Tells whether a name made of the call shows a finding. */
const showsFinding = ({ call, name }: Named, counts: (finding: Finding) => boolean = () => true): boolean =>
  call.findings.some((it) => counts(it) && (isInHost(call, it) || name.includes(textOf(call, it))));

interface Named {
  readonly call: NamedCall;
  readonly name: string;
}

/**
 * Tells whether a name may be kept. INTERNAL findings may stay in it: the state may know that a host is the
 * tenant's own.
 */
export const mayBeKept = (call: NamedCall, name: string): boolean =>
  call.safeName(name) === name && !showsFinding({ call, name }, (it) => it.class !== 'INTERNAL');

/**
 * Tells whether a finding lies in the host of the URL. It may be decoded there, or reach over several labels.
 */
function isInHost({ received }: NamedCall, { part, start, end }: Finding): boolean {
  const { scheme, host, href } = received.target;
  const from = href.indexOf(host, scheme.length);
  return part === 'head' && from >= 0 && start < from + host.length && end > from;
}

function textOf({ received, head }: NamedCall, { part, start, end }: Finding): string {
  const bytes = part === 'head' ? head : (received.readings.plain ?? received.body);
  const text = bytes.toString('utf8', start, end);
  return text.length < foundLengthMin ? '\0' : text;
}
