import type { Call } from '../call.ts';
import { toAuthority } from '../target.ts';
import { redact } from '../text/redact.ts';

const urlLengthMax = 2048;
const previewBytesMax = 1024;

/**
 * The call's URL with everything that a detector found in it cut out: what traces, approvals and logs may hold. Of a call that nobody has
 * read, its origin alone: nobody knows what its path and query hold.
 */
export function redactedUrl(call: Call): string {
  const { href, scheme, host, port } = call.target;
  if (call.head.length === 0) return `${scheme}://${toAuthority(scheme, host, port)}/`;
  const cuts = call.findings.filter((it) => it.part === 'head' && it.start < href.length).map(toCut);
  if (cuts.length === 0) return href.slice(0, urlLengthMax);
  const url = call.head.subarray(0, href.length);
  const within = cuts.map((cut) => ({ ...cut, end: Math.min(cut.end, href.length) }));
  return redact(url, within).bytes.toString('latin1').slice(0, urlLengthMax);
}

/** The beginning of the body with all findings cut out. */
export function redactedPreview(call: Call): string {
  const cuts = call.findings.filter((it) => it.part === 'body').map(toCut);
  const { bytes } = redact(call.plain ?? call.body, cuts);
  return bytes.toString('utf8', 0, previewBytesMax);
}

const toCut = (it: {
  start: number;
  end: number;
  kind: string;
}): { start: number; end: number; label: string } => ({
  start: it.start,
  end: it.end,
  label: it.kind,
});
