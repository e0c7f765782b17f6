/*
 * The access tokens of one credential that an upstream may still take, and so may show. They outlive whoever has fetched them: neither a
 * reload nor another secret in the vault ends them.
 */

import { type Cache, createCache } from '../state/cache.ts';

interface Issued {
  readonly text: string;
  readonly endsAtMs: number;
}

export interface IssuedTokens {
  /** `validMs`: as the token endpoint has said, from `askedAtMs`. */
  add(token: { readonly text: string; readonly validMs: number }, askedAtMs: number): void;
  /** The newest one, and the others that are still valid; the newest first. The same list until they change. */
  at(nowMs: number): readonly string[];
  /** Tells whether there is no room for one more token. */
  isFullAt(nowMs: number): boolean;
}

/** Tokens by tenant and credential, for the credentials that were asked for last. */
export interface TokenBook {
  of(tenantId: string, credential: string): IssuedTokens;
}

/** Each makes the search through answers longer. */
const issuedMax = 16;
/** The clock of an upstream may be late. */
const graceMs = 60_000;
const credentialsMax = 8192;

export function createIssuedTokens(): IssuedTokens {
  let issued: readonly Issued[] = [];
  let texts: readonly string[] = [];

  function set(next: readonly Issued[]): void {
    issued = next;
    texts = next.map((it) => it.text);
  }

  function dropEnded(nowMs: number): void {
    const standing = issued.filter((it, i) => i === 0 || nowMs < it.endsAtMs + graceMs);
    if (standing.length < issued.length) set(standing);
  }

  return {
    add({ text, validMs }, askedAtMs) {
      dropEnded(askedAtMs);
      const others = issued.filter((it) => it.text !== text);
      // Tokens with the shortest time left are forgotten first.
      const longest = others.toSorted((a, b) => b.endsAtMs - a.endsAtMs).slice(0, issuedMax - 1);
      set([{ text, endsAtMs: askedAtMs + validMs }, ...others.filter((it) => longest.includes(it))]);
    },
    at(nowMs) {
      dropEnded(nowMs);
      return texts;
    },
    isFullAt(nowMs) {
      dropEnded(nowMs);
      return issued.length >= issuedMax;
    },
  };
}

export function createTokenBook(): TokenBook {
  const known: Cache<IssuedTokens> = createCache(credentialsMax);
  return {
    of(tenantId, credential) {
      const key = `${tenantId}\n${credential}`;
      const issued = known.get(key) ?? createIssuedTokens();
      known.set(key, issued);
      return issued;
    },
  };
}
