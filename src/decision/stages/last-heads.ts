import type { Inspection, ReadHead, ReceivedCall } from '../../core/call.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import type { Reading } from './reading.ts';

/**
 * Tells whether two heads are alike, even in fields that are not read. Then the text need not be composed.
 */
export function isAlike(last: ReadHead, { method, target, headers }: ReceivedCall): boolean {
  if (last.method !== method || last.headers.length !== headers.length) return false;
  const { href, fragment, userInfo } = target;
  const { target: before } = last;
  if (before?.href !== href || before.fragment !== fragment || before.userInfo !== userInfo) return false;
  for (let i = 0; i < headers.length; i++) if (headers[i] !== last.headers[i]) return false;
  return true;
}

/** Keeps the head of a call for the next one on its connection, with what `engine` has found in it. */
export function keepHead(
  last: ReadHead,
  call: ReceivedCall,
  { head, findings }: Inspection,
  { text, engine }: { readonly text: string; readonly engine: DetectorEngine },
): void {
  noteHead(last, call);
  last.text = text;
  last.bytes = head;
  last.findings = [...findings];
  last.reader = engine;
}

export function noteHead(last: ReadHead, { method, target, headers }: ReceivedCall): void {
  last.method = method;
  last.target = target;
  last.headers = headers;
}

export function takeHead(reading: Reading, { bytes, findings }: ReadHead): void {
  reading.head = bytes;
  reading.findings = [...findings];
}
