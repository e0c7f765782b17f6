/*
 * The access tokens of one credential that an upstream may still take, and so may show. They outlive the
 * source that has fetched them: neither a reload nor another secret in the vault ends them.
 */

import { type Cache, createCache } from '../state/cache.ts';

interface Issued {
  readonly text: string;
  readonly endsAtMs: number;
}

/** Bound on the tokens of a credential: each makes the search through answers longer. */
const issuedMax = 16;
/** Milliseconds for which a token counts as valid behind its end: the clock of an upstream may be late. */
const graceMs = 60_000;
const credentialsMax = 8192;

export class IssuedTokens {
  #issued: readonly Issued[] = [];
  #texts: readonly string[] = [];

  /** Adds a token that is valid for `validMs` from `askedAtMs`, as the token endpoint has said. */
  add({ text, validMs }: { readonly text: string; readonly validMs: number }, askedAtMs: number): void {
    this.#dropEnded(askedAtMs);
    const others = this.#issued.filter((it) => it.text !== text);
    // Tokens with the shortest time left are forgotten first.
    const longest = others.toSorted((a, b) => b.endsAtMs - a.endsAtMs).slice(0, issuedMax - 1);
    this.#set([{ text, endsAtMs: askedAtMs + validMs }, ...others.filter((it) => longest.includes(it))]);
  }

  /** Returns the tokens that may be valid, the newest first. The list is the same until they change. */
  at(nowMs: number): readonly string[] {
    this.#dropEnded(nowMs);
    return this.#texts;
  }

  /** Tells whether there is no room for one more token. */
  isFullAt(nowMs: number): boolean {
    this.#dropEnded(nowMs);
    return this.#issued.length >= issuedMax;
  }

  #set(next: readonly Issued[]): void {
    this.#issued = next;
    this.#texts = next.map((it) => it.text);
  }

  #dropEnded(nowMs: number): void {
    const standing = this.#issued.filter((it, i) => i === 0 || nowMs < it.endsAtMs + graceMs);
    if (standing.length < this.#issued.length) this.#set(standing);
  }
}

/** Keeps tokens by tenant and credential, for the credentials that were asked for last. */
export class TokenBook {
  readonly #known: Cache<IssuedTokens> = createCache(credentialsMax);

  of(tenantId: string, credential: string): IssuedTokens {
    const key = `${tenantId}\n${credential}`;
    const issued = this.#known.get(key) ?? new IssuedTokens();
    this.#known.set(key, issued);
    return issued;
  }
}
