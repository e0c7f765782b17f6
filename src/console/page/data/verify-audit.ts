import type { Listing, ShownAuditEntry } from '../../../api/answers.ts';
import { get } from './api.ts';

/* Recomputes the chain of the audit log here, so that the daemon need not be believed. */

const pagesMax = 1000;

/** Returns the canonical JSON (RFC 8785) of a value that JSON can hold. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((it) => `${JSON.stringify(it)}:${canonical((value as Record<string, unknown>)[it])}`).join(',')}}`;
}

async function hashOf({ hash: _, at, ...entry }: ShownAuditEntry): Promise<string> {
  const text = canonical({ ...entry, at_ms: Date.parse(at) });
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (it) => it.toString(16).padStart(2, '0')).join('');
}

export interface Verified {
  readonly entries: number;
  readonly head: string;
  /** The first wrong entry, seen from the newest; undefined where all are as they were written. */
  readonly broken: { readonly seq: number; readonly problem: 'altered' | 'missing' } | undefined;
}

/** Tells whether the browser computes hashes, which it does on https and on this machine alone. */
export const canVerify = (): boolean => globalThis.crypto?.subtle !== undefined;

/** Verifies all entries, newest first. `onProgress` is told how many were read. */
export async function verifyAudit(onProgress: (entries: number) => void): Promise<Verified> {
  let cursor: string | undefined;
  let expected: { hash: string; seq: number } | undefined;
  let head = '';
  let entries = 0;
  for (let page = 0; page < pagesMax; page += 1) {
    const { items, next_cursor } = await get<Listing<ShownAuditEntry>>('/v1/audit', { limit: 1000, cursor });
    for (const it of items) {
      head ||= it.hash;
      if (expected && it.seq !== expected.seq)
        return { entries, head, broken: { seq: expected.seq, problem: 'missing' } };
      if ((await hashOf(it)) !== it.hash || (expected && it.hash !== expected.hash))
        return { entries, head, broken: { seq: it.seq, problem: 'altered' } };
      expected = { hash: it.previous, seq: it.seq - 1 };
      entries += 1;
    }
    onProgress(entries);
    if (next_cursor === null) break;
    cursor = next_cursor;
  }
  const isWhole = expected === undefined || (expected.seq === 0 && /^0{64}$/.test(expected.hash));
  return { entries, head, broken: isWhole ? undefined : { seq: expected?.seq ?? 0, problem: 'missing' } };
}
