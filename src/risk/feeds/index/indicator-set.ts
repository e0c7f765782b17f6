import { isIP } from 'node:net';
import { type Danger, hostDanger, rangeDanger } from '../danger.ts';
import { EntriesBuilder, type EntriesData, type IndicatorKind } from '../entries.ts';
import { parseRange, type Range } from '../range.ts';
import type { Intake, Listed } from '../readers.ts';
import { FeedRefused } from '../refused.ts';
import { canonicalHost, canonicalPath, splitUrl } from './canonical-url.ts';
import { Hashes, type HashKey, hashHost, hashPath, pathLengthMax } from './keyed-hash.ts';
import { coverage, RangesBuilder, type RangeTable } from './range-table.ts';
import { emptyTable, putEntry, type TextTable } from './text-table.ts';

/**
 * The entries of one feed, ready for look-ups. It never changes and is plain memory, so that one thread can
 * give it to another.
 */
export interface IndicatorSet {
  readonly key: HashKey;
  readonly entries: EntriesData;
  readonly hosts: TextTable;
  readonly urls: TextTable;
  /**
   * A bit, at the place of its hash, for each host that has URLs. Thus paths are looked up only for few
   * hosts.
   */
  readonly urlHosts: Uint32Array;
  readonly ipv4: RangeTable;
  readonly ipv6: RangeTable;
  /** The beginning that all references share. */
  readonly referenceBase: string;
  /** The number of different indicators. */
  readonly indicators: number;
  /**
   * The number of indicators that are left out because they would block what nobody wants blocked
   * (`danger.ts`).
   */
  readonly dropped: number;
  readonly malformed: number;
}

const indicatorsMax = 2_000_000;
/** The largest share of malformed entries. A feed that has the format of its configuration stays below it. */
const malformedShareMax = 0.05;
/** The largest share of a family's addresses that ranges may cover. Large public lists cover under 1 %. */
const coverageMax = 1 / 8;
const textLengthMax = 8192;

/** The fate of an entry; undefined where it was taken. */
type Outcome = Danger | 'malformed';

/** Takes the entries of a feed. Then `finish` makes a set of them, or throws why the feed is refused. */
export class SetBuilder implements Intake {
  readonly #key: HashKey;
  readonly #place: () => string;
  readonly #entries = new EntriesBuilder();
  readonly #scratch = new Hashes();
  /** The hash of each entry by its number; none for ranges. */
  #hashes = new Uint32Array(1 << 12);
  readonly #hosts: number[] = [];
  readonly #urls: number[] = [];
  readonly #urlHosts: number[] = [];
  readonly #ipv4 = new RangesBuilder(1);
  readonly #ipv6 = new RangesBuilder(4);
  #seen = 0;
  #dropped = 0;
  #malformed = 0;
  #firstMalformed = '';

  /** Begins with no entry. `place` returns the place where the feed is being read. */
  constructor(key: HashKey, place: () => string) {
    this.#key = key;
    this.#place = place;
  }

  skip(): void {
    this.#seen++;
  }

  malformed(): void {
    this.#seen++;
    if (this.#malformed++ === 0) this.#firstMalformed = this.#place();
  }

  take(listed: Listed): void {
    if (this.#entries.count >= indicatorsMax) {
      throw new FeedRefused(`The feed lists more than ${indicatorsMax} indicators.`);
    }
    const text = listed.text.trim();
    const kind = text === '' || text.length > textLengthMax ? undefined : (listed.kind ?? kindOf(text));
    const outcome = kind === undefined ? 'malformed' : this.#put(kind, text, listed);
    if (outcome === 'malformed') this.malformed();
    else this.#seen++;
    if (outcome === 'dropped') this.#dropped++;
    else if (typeof outcome === 'object') {
      throw new FeedRefused(`At ${this.#place()} the feed ${outcome.fatal}.`);
    }
  }

  #put(kind: 'url' | 'host' | 'range', text: string, listed: Listed): Outcome {
    if (kind === 'url') return this.#putUrl(text, listed);
    return kind === 'range' ? this.#putRange(withoutPort(text), listed) : this.#putHost(text, listed);
  }

  #putUrl(text: string, listed: Listed): Outcome {
    const url = splitUrl(text);
    if (url === undefined) return 'malformed';
    const { host, isAddress } = url;
    const path = canonicalPath(url.path);
    if (path.length > pathLengthMax) return 'malformed';
    const danger = dangerOfUrl(host, isAddress, path === '/');
    if (danger !== undefined) return 'dropped';
    const index = this.#add('url', host + path, listed);
    hashHost(host, true, this.#key, this.#scratch);
    this.#urlHosts.push(this.#scratch.hash[0] ?? 0);
    hashPath(path, this.#scratch.states, 0, this.#scratch);
    this.#hashes[index] = this.#scratch.hash[this.#scratch.count - 1] ?? 0;
    this.#urls.push(index);
    return undefined;
  }

  #putHost(text: string, listed: Listed): Outcome {
    const host = canonicalHost(text.replace(/^\*?\./, ''));
    if (host === undefined) return 'malformed';
    if (isIP(host) !== 0) return this.#putRange(host, listed);
    const danger = hostDanger(host);
    if (danger !== undefined) return danger;
    const index = this.#add('host', host, listed);
    hashHost(host, true, this.#key, this.#scratch);
    this.#hashes[index] = this.#scratch.hash[0] ?? 0;
    this.#hosts.push(index);
    return undefined;
  }

  #putRange(text: string, listed: Listed): Outcome {
    const range = parseRange(text);
    if (range === undefined) return 'malformed';
    const danger = rangeDanger(range, text);
    if (danger !== undefined) return danger;
    const isOne = range.bits === (range.isIpv6 ? 128 : 32);
    const entry = this.#add(isOne ? 'ip' : 'cidr', text, listed);
    (range.isIpv6 ? this.#ipv6 : this.#ipv4).add(range, entry);
    return undefined;
  }

  #add(kind: IndicatorKind, indicator: string, { reference = '', threat = '' }: Listed): number {
    const index = this.#entries.add({ kind, indicator, reference, threat });
    if (index >= this.#hashes.length) {
      const grown = new Uint32Array(2 * this.#hashes.length);
      grown.set(this.#hashes);
      this.#hashes = grown;
    }
    return index;
  }

  finish(referenceBase: string): IndicatorSet {
    if (this.#malformed > malformedShareMax * this.#seen) {
      const numbers = `${this.#malformed} of ${this.#seen} entries are not readable`;
      throw new FeedRefused(
        `The feed is not in the format of its configuration: ${numbers}, first at ${this.#firstMalformed}.`,
      );
    }
    const entries = this.#entries.finish();
    const [hosts, hostCount] = this.#table(this.#hosts, entries);
    const [urls, urlCount] = this.#table(this.#urls, entries);
    const ipv4 = this.#ipv4.finish();
    const ipv6 = this.#ipv6.finish();
    if (coverage(ipv4) > coverageMax || coverage(ipv6) > coverageMax) {
      throw new FeedRefused('The ranges of the feed cover more than an eighth of all addresses.');
    }
    const indicators = hostCount + urlCount + ipv4.entries.length + ipv6.entries.length;
    if (indicators === 0) throw new FeedRefused('The feed lists no indicators.');
    const [dropped, malformed] = [this.#dropped, this.#malformed];
    const urlHosts = bitsAt(this.#urlHosts);
    return {
      key: this.#key,
      entries,
      hosts,
      urls,
      urlHosts,
      ipv4,
      ipv6,
      referenceBase,
      indicators,
      dropped,
      malformed,
    };
  }

  #table(numbers: readonly number[], entries: EntriesData): [TextTable, number] {
    const table = emptyTable(numbers.length);
    let count = 0;
    for (const index of numbers) if (putEntry(table, this.#hashes[index] ?? 0, index, entries)) count++;
    return [table, count];
  }
}

function kindOf(text: string): 'url' | 'host' | 'range' {
  if (text.includes('://')) return 'url';
  if (parseRange(withoutPort(text)) !== undefined) return 'range';
  return text.includes('/') ? 'url' : 'host';
}

/**
 * Returns `192.0.2.1:443` and `[2001:db8::1]:443` without port and brackets, and any other text as it stands.
 */
const withoutPort = (text: string): string =>
  /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/.exec(text)?.[1] ??
  /^\[([0-9a-fA-F:.]+)\](?::\d{1,5})?$/.exec(text)?.[1] ??
  text;

/**
 * Returns the danger of a URL. An entry for a page means that page. Only at the root does it mean the whole
 * host.
 */
function dangerOfUrl(host: string, isAddress: boolean, isRoot: boolean): Danger {
  if (isAddress) {
    const range: Range | undefined = parseRange(host);
    return range && rangeDanger(range, isRoot ? host : '');
  }
  if (isRoot) return hostDanger(host);
  return host === 'localhost' || host.endsWith('.localhost') || !host.includes('.') ? 'dropped' : undefined;
}

/**
 * Returns bits with one set for each hash. There are sixteen bits for each hash, so that one of sixteen other
 * hashes is mistaken for one of them.
 */
function bitsAt(hashes: readonly number[]): Uint32Array {
  const bits = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(2, hashes.length / 2))));
  for (const hash of hashes) {
    const at = hash & (32 * bits.length - 1);
    bits[at >>> 5] = (bits[at >>> 5] ?? 0) | (1 << (at & 31));
  }
  return bits;
}

export const hasFilterBit = (bits: Uint32Array, hash: number): boolean => {
  const at = hash & (32 * bits.length - 1);
  return (((bits[at >>> 5] ?? 0) >>> (at & 31)) & 1) === 1;
};
