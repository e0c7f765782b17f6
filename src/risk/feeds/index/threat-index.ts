import type { Target } from '../../../core/target.ts';
import { parseIpv4, parseIpv6, toIpv4 } from '../../../util/addresses.ts';
import { entryAt, type IndicatorKind } from '../entries.ts';
import { embeddedIpv4 } from '../range.ts';
import { canonicalPath, splitUrl } from './canonical-url.ts';
import { hasFilterBit, type IndicatorSet } from './indicator-set.ts';
import { Hashes, hashHost, hashPath } from './keyed-hash.ts';
import { findIpv4, findIpv6 } from './range-table.ts';
import { findEntry } from './text-table.ts';

export interface ThreatHit {
  readonly feed: string;
  readonly kind: IndicatorKind;
  /** The indicator in canonical form; a URL without scheme and port. */
  readonly indicator: string;
  /**
   * The feed's link to the indicator, or name for it, up to 320 printable characters; empty where there is
   * none.
   */
  readonly reference: string;
  /** The kind of threat in the feed's words, up to 64 printable characters. */
  readonly threat: string;
}

export interface NamedSet {
  readonly name: string;
  readonly set: IndicatorSet;
}

/* Buffers that all look-ups share, since look-ups are synchronous. */
const hostHashes = new Hashes();
const pathHashes = new Hashes();

/**
 * Looks up indicators in all sets. If several have one, the hit of the first set counts. A URL is found by
 * whatever a feed may mean by it. That is its host or a parent of two labels or more, alone or with a part of
 * its path. Such a part is the whole, the path without query, or a directory above. Throws where the sets
 * were made with different keys.
 */
export class ThreatIndex {
  readonly indicators: number;
  readonly #key;
  readonly #withHosts;
  readonly #withRanges;

  constructor(sets: readonly NamedSet[]) {
    this.#key = sets[0]?.set.key ?? new Uint32Array(2);
    if (sets.some(({ set }) => set.key[0] !== this.#key[0] || set.key[1] !== this.#key[1]))
      throw new TypeError('The sets of an index must share their key.');
    this.#withHosts = sets.filter(({ set }) => set.indicators > rangesIn(set));
    this.#withRanges = sets.filter(({ set }) => rangesIn(set) > 0);
    this.indicators = sets.reduce((sum, { set }) => sum + set.indicators, 0);
  }

  /**
   * Returns the hit of a call's address, of its host or a parent, or of its URL; undefined where there is
   * none.
   */
  findTarget({ host, path, isAddress }: Pick<Target, 'host' | 'path' | 'isAddress'>): ThreatHit | undefined {
    return this.#find(host, isAddress, path);
  }

  /** Returns the hit of a URL as it stands in a body; undefined also where the text is no URL. */
  findUrl(text: string): ThreatHit | undefined {
    const url = splitUrl(text);
    return url && this.#find(url.host, url.isAddress, url.path);
  }

  /**
   * Returns the hit of an address, such as a dialled one. IPv6 is looked up by its IPv4 part, too. Returns
   * undefined for other text.
   */
  findAddress(address: string): ThreatHit | undefined {
    if (this.#withRanges.length === 0) return undefined;
    const ipv4 = parseIpv4(address);
    if (ipv4 >= 0) return this.#inIpv4(ipv4);
    const words = parseIpv6(address);
    if (words === undefined) return undefined;
    for (const named of this.#withRanges) {
      const entry = findIpv6(named.set.ipv6, words);
      if (entry >= 0) return toHit(named, entry);
    }
    const inner = embeddedIpv4(words);
    return inner < 0 ? undefined : this.#inIpv4(inner);
  }

  #find(host: string, isAddress: boolean, path: string | undefined): ThreatHit | undefined {
    const byAddress = isAddress ? this.findAddress(host) : undefined;
    if (byAddress || this.#withHosts.length === 0) return byAddress;
    const words = isAddress ? parseIpv6(host) : undefined;
    const inner = words ? embeddedIpv4(words) : -1;
    return (
      this.#findText(host, isAddress, path) ??
      (inner < 0 ? undefined : this.#findText(toIpv4(inner), true, path))
    );
  }

  #findText(host: string, isAddress: boolean, path: string | undefined): ThreatHit | undefined {
    hashHost(host, isAddress, this.#key, hostHashes);
    let canonical: string | undefined;
    for (const named of this.#withHosts) {
      const { set } = named;
      for (let at = 0; at < hostHashes.count; at++) {
        const hash = hostHashes.hash[at] ?? 0;
        const from = hostHashes.at[at] ?? 0;
        const byHost = findEntry(set.hosts, hash, set.entries, host, from, '', 0);
        if (byHost >= 0) return toHit(named, byHost);
        if (path === undefined || !hasFilterBit(set.urlHosts, hash)) continue;
        canonical ??= canonicalPath(path);
        const byPath = findPath(set, host, at, canonical);
        if (byPath >= 0) return toHit(named, byPath);
      }
    }
    return undefined;
  }

  #inIpv4(address: number): ThreatHit | undefined {
    for (const named of this.#withRanges) {
      const entry = findIpv4(named.set.ipv4, address);
      if (entry >= 0) return toHit(named, entry);
    }
    return undefined;
  }
}

/**
 * Returns the entry of the longest listed part of a path, on the hashed host number `at`; -1 where there is
 * none.
 */
function findPath(set: IndicatorSet, host: string, at: number, path: string): number {
  hashPath(path, hostHashes.states, at, pathHashes);
  for (let part = pathHashes.count - 1; part >= 0; part--) {
    const [hash = 0, length = 0] = [pathHashes.hash[part], pathHashes.at[part]];
    const entry = findEntry(set.urls, hash, set.entries, host, hostHashes.at[at] ?? 0, path, length);
    if (entry >= 0) return entry;
  }
  return -1;
}

function toHit({ name, set }: NamedSet, index: number): ThreatHit {
  const { kind, indicator, reference, threat } = entryAt(set.entries, index);
  return { feed: name, kind, indicator, reference: reference && set.referenceBase + reference, threat };
}

const rangesIn = ({ ipv4, ipv6 }: IndicatorSet): number => ipv4.entries.length + ipv6.entries.length;
