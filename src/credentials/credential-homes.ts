import type { CredentialMarks, DecidedCall, Homing, InspectedCall } from '../core/call.ts';
import { toGatewayError } from '../core/errors.ts';
import { createCache } from '../state/cache.ts';
import type { HomeStore, MaybePromise } from '../state/store.ts';
import { after, orElse } from '../util/maybe-promise.ts';
import { type HomedCredential, marksOf, type Standing } from './credential-marks.ts';
import { partsOf, tokenPiecesOf } from './credential-parts.ts';
import type { PlacedCredential } from './credential-places.ts';
import { credentialsOf, foundTexts, textOf } from './found-credentials.ts';
import { type Claims, claimsOf } from './json-web-token.ts';
import { registrableDomain } from './registrable-domain.ts';
import { hashOf } from './secret-hashes.ts';
import type { TenantSecrets } from './tenant-secrets.ts';

/*
 * A credential without a vendor has a home. If its own claims name hosts, its home is the place that its
 * protocol gives it, at those hosts. Without such claims it is the registrable domain where somebody of the
 * tenant has used it first. A finding at home is no leak. The same credential in such a place at another
 * domain is misdirected. Findings in other places do not change.
 *
 * The first use binds, once the call is let out: what is denied or held binds nothing. Only calls in which
 * something was found, or that ask for a token, look at homes at all. The state is asked for what this node
 * does not know. For most credentials that happens once in days.
 */

const knownMax = 32_768;
/** Share of the time that a home stands, for which a node believes what it knows. */
const knownPart = 1 / 8;
const clearedMs = 3_600_000;

/** The home of a call, hashed under the key of its tenant. */
interface Home {
  readonly key: Buffer;
  readonly domain: string;
  readonly home: string;
}

export class CredentialHomes {
  readonly #store: HomeStore;
  readonly #credentialKey;
  /** Homes that this node has bound or kept lately. */
  readonly #known = createCache<{ readonly home: string; readonly untilMs: number }>(knownMax);
  /**
   * Times until which the pieces of a composed credential need no look-up. Without an entry, the state is
   * asked for each.
   */
  readonly #cleared = createCache<number>(knownMax);

  constructor(store: HomeStore, { credentialKey }: Pick<TenantSecrets, 'credentialKey'>) {
    this.#store = store;
    this.#credentialKey = credentialKey;
  }

  /**
   * Marks findings of credentials that are at home, or known to be at home elsewhere. Says what the call
   * would bind, and binds nothing. With `isFirstUse: false` no credential is at home by a first use. Where
   * there is nothing to mark, the answer is the marks that the call has.
   */
  mark(
    call: InspectedCall,
    { isFirstUse }: { readonly isFirstUse: boolean } = { isFirstUse: true },
  ): MaybePromise<CredentialMarks> {
    const { receivedAtMs } = call;
    if (call.message || call.readings.unreadable !== undefined) return call.marks;
    const credentials = credentialsOf(call);
    if (credentials.length === 0) return call.marks;
    const { tenantId } = call.identity;
    const key = this.#credentialKey(tenantId);
    const domain = registrableDomain(call.target.host);
    const home = hashOf(key, Buffer.from(`home ${domain}`));
    const at = { key, domain, home };
    const placed = credentials.map((it) => this.#place(call, it, at));
    const asking = placed.filter((it) => it.standing !== 'elsewhere');
    const asked = asking.flatMap((it) => [...it.looked, ...it.pieces]);
    const unknown = new Set(asked.filter((it) => this.#knownHome(tenantId, it, receivedAtMs) === undefined));
    return after(this.#homesOf(tenantId, [...unknown], receivedAtMs), (stored) => {
      // A credential that could not be looked up is at home nowhere.
      if (!stored)
        return marksOf(
          call,
          placed.filter(
            (it) => it.standing === 'elsewhere' || (it.standing === 'here' && it.looked.length === 0),
          ),
          undefined,
        );
      const bindings: HomedCredential[] = [];
      const homeOf = (hash: string) => this.#knownHome(tenantId, hash, receivedAtMs) ?? stored.get(hash);
      for (const it of asking) {
        const isBound = it.hashes.every((hash) => homeOf(hash) === home);
        const looked = [...it.looked, ...it.pieces];
        const isElsewhere = looked.some((hash) => (homeOf(hash) ?? home) !== home);
        const free = looked.filter((hash) => homeOf(hash) === undefined);
        const isSeenElsewhere = free.length > 0 && seenAt(call, free, domain) === 'elsewhere';
        if (isElsewhere || isSeenElsewhere) {
          it.standing = 'elsewhere';
          it.isKnown = false;
          continue;
        }
        if (it.composed !== undefined && it.pieces.length > 0)
          this.#cleared.set(it.composed, receivedAtMs + clearedMs);
        if (it.standing === 'free') {
          if (isBound) it.standing = 'here';
          it.isKnown = isBound || seenAt(call, it.hashes, domain) === 'known';
          if (it.hashes.some((hash) => unknown.has(hash))) bindings.push(it);
        }
      }
      const isSettled = (it: HomedCredential): boolean => isFirstUse || it.standing !== 'free';
      return marksOf(
        call,
        placed.filter(isSettled),
        homingOf(bindings.filter(isSettled), home, receivedAtMs),
      );
    });
  }

  /** Places a credential of the call, as far as its own claims tell and without asking the state. */
  #place(call: InspectedCall, credential: PlacedCredential, { key, domain, home }: Home): HomedCredential {
    const found = foundTexts(call, credential);
    const written = textOf(call, credential);
    const parts = partsOf(credential, written);
    const pieces = parts && tokenPiecesOf(parts);
    const hashed = (texts: Iterable<string>) => [
      ...new Set([...texts].map((it) => hashOf(key, Buffer.from(it)))),
    ];
    const hashes = hashed([...credential.texts, ...found.slice(0, foundBoundMax)]);
    const all = [...new Set([...credential.texts, ...found, ...(parts ?? [])])];
    const standings = all.map((it) => standingByClaims(claimsOf(it), call.target.host));
    const isElsewhere = !pieces || standings.includes('elsewhere');
    const standing = isElsewhere ? 'elsewhere' : standingByClaims(credential.claims, call.target.host);
    // A JWT that says where it belongs is at home there, whoever has used it before.
    const looked = hashed(all.filter((_, at) => standings[at] !== 'here'));
    const isKnown =
      standing === 'here' && call.history.sightings.hasReads && seenAt(call, hashes, domain) === 'known';
    const composed =
      pieces === undefined || pieces.size === 0
        ? undefined
        : `${call.identity.tenantId}\n${home}\n${hashOf(key, Buffer.from(written))}`;
    const isCleared = composed === undefined || call.receivedAtMs < (this.#cleared.get(composed) ?? 0);
    const ofPieces = isCleared ? [] : hashed(pieces ?? []);
    return { credential, hashes, looked, pieces: ofPieces, composed, standing, isKnown };
  }

  /**
   * Binds what the call is to bind. Returns false where a credential is at home elsewhere, or cannot be
   * bound.
   */
  bind({ identity, marks: { homing }, receivedAtMs: nowMs }: DecidedCall): MaybePromise<boolean> {
    if (!homing) return true;
    const { tenantId, ownAgent } = identity;
    const { agentId } = ownAgent;
    return after(
      orAway(() => this.#store.bindHomes({ tenantId, agentId, nowMs, ...homing }), undefined),
      (answer) => {
        if (answer !== 'bound') return false;
        for (const { credential, keptMs } of homing.credentials)
          this.#known.set(nameOf(tenantId, credential), {
            home: homing.home,
            untilMs: nowMs + keptMs * knownPart,
          });
        return true;
      },
    );
  }

  #knownHome(tenantId: string, credential: string, nowMs: number): string | undefined {
    const it = this.#known.get(nameOf(tenantId, credential));
    return it && nowMs < it.untilMs ? it.home : undefined;
  }

  /**
   * Asks the state for homes by hash. Returns undefined where the state is away: then nobody knows what is at
   * home.
   */
  #homesOf(tenantId: string, hashes: readonly string[], nowMs: number) {
    if (hashes.length === 0) return new Map<string, string | undefined>();
    const toMap = (homes: readonly (string | undefined)[]) =>
      new Map(hashes.map((hash, at) => [hash, homes[at]] as const));
    return orAway(() => after(this.#store.homesOf(tenantId, hashes, nowMs), toMap), undefined);
  }
}

/** Returns the answer of `work`, or `otherwise` where the state is away or has no room. */
const orAway = <T, U>(work: () => MaybePromise<T>, otherwise: U): MaybePromise<T | U> =>
  orElse(work, (error) => {
    const { code } = toGatewayError(error);
    if (code !== 'STATE_UNAVAILABLE' && code !== 'GATEWAY_BUSY') throw error;
    return otherwise;
  });

/**
 * Tells where a credential is at home by its claims. A named host stands for the hosts below it. Hosts beside
 * it may be of strangers.
 */
function standingByClaims(claims: Claims | undefined, host: string): Standing {
  if (!claims) return 'free';
  const { audience, issuer } = claims;
  const isMeant = (named: string): boolean => host === named || host.endsWith(`.${named}`);
  if (audience.some(isMeant) || (issuer !== undefined && isMeant(issuer))) return 'here';
  return audience.length > 0 ? 'elsewhere' : 'free';
}

/**
 * Returns the evidence of the last minutes. `known` means that an answer has granted one of them, or had one
 * and came from this domain. `elsewhere` means that an answer that had one came from another domain, or a
 * call took one there.
 */
function seenAt(
  { history: { sightings } }: InspectedCall,
  hashes: readonly string[],
  domain: string,
): 'known' | 'elsewhere' | 'nowhere' {
  const asked = new Set(hashes);
  const [known, elsewhere] = [new Set<string>(), new Set<string>()];
  for (const it of sightings.all) {
    if (it.kind !== 'secrets') continue;
    const { isGranted, cameFrom, wentTo } = it;
    const isOfHere = cameFrom === domain || (isGranted && cameFrom === undefined);
    const isOfOther = cameFrom !== undefined || (wentTo !== undefined && wentTo !== domain);
    const into = isOfHere ? known : isOfOther ? elsewhere : undefined;
    if (into) for (const hash of it.hashes) if (asked.has(hash)) into.add(hash);
  }
  for (const hash of elsewhere) if (!known.has(hash)) return 'elsewhere';
  return known.size > 0 ? 'known' : 'nowhere';
}

/** Bound on the found texts of one place that are bound; all of them are looked up. */
const foundBoundMax = 8;

const minKeptMs = 3_600_000;

function homingOf(bindings: readonly HomedCredential[], home: string, nowMs: number): Homing | undefined {
  if (bindings.length === 0) return undefined;
  const credentials = bindings.flatMap(({ credential: { keptMs, claims }, hashes }) => {
    const lifeMs = claims?.endsAtMs === undefined ? keptMs : claims.endsAtMs - nowMs;
    const ms = Math.max(minKeptMs, Math.min(keptMs, lifeMs));
    return hashes.map((credential) => ({ credential, keptMs: ms }));
  });
  return { home, credentials };
}

const nameOf = (tenantId: string, credential: string): string => `${tenantId}\n${credential}`;
