import { FeedRefused } from './refused.ts';

/*
 * Indicators as a feed lists them, with what the feed says of them, stored as bytes one behind the other. A
 * million strings would be a million objects for the garbage collector to walk. They could not be handed from
 * thread to thread without copying.
 */

const indicatorKinds = ['url', 'host', 'ip', 'cidr'] as const;
export type IndicatorKind = (typeof indicatorKinds)[number];

interface Entry {
  readonly kind: IndicatorKind;
  /** The indicator in canonical form; a URL without scheme and port. */
  readonly indicator: string;
  /** The feed's name for the indicator, or its link, up to 256 characters; empty where there is none. */
  readonly reference: string;
  /** The kind of threat in the feed's words, up to 64 characters; empty where there is none. */
  readonly threat: string;
}

export interface EntriesData {
  readonly count: number;
  /** The text of all entries in ASCII: of each its indicator, then its reference. */
  readonly text: Uint8Array;
  /** The start of each entry in `text`, and the end of the last one. */
  readonly offsets: Uint32Array;
  /** The length of each indicator. */
  readonly lengths: Uint16Array;
  readonly kinds: Uint8Array;
  readonly threatOf: Uint16Array;
  readonly threats: readonly string[];
}

const textBytesMax = 256 * 1024 * 1024;
const referenceMax = 256;
const threatMax = 64;
/** The most kinds of threats of a feed. Entries of further kinds have no kind. */
const threatsMax = 4096;

export class EntriesBuilder {
  count = 0;
  #text = Buffer.allocUnsafeSlow(1 << 16);
  #used = 0;
  #offsets = new Uint32Array(1 << 12);
  #lengths = new Uint16Array(1 << 12);
  #kinds = new Uint8Array(1 << 12);
  #threatOf = new Uint16Array(1 << 12);
  readonly #threats = new Map<string, number>([['', 0]]);

  /** Adds an entry and returns its number. The indicator is ASCII of up to 65,535 characters. */
  add({ kind, indicator, reference, threat }: Entry): number {
    const told = words(reference, referenceMax);
    this.#reserve(indicator.length + told.length);
    const index = this.count++;
    this.#offsets[index] = this.#used;
    this.#used += this.#text.write(indicator, this.#used, 'latin1');
    this.#used += this.#text.write(told, this.#used, 'latin1');
    this.#offsets[index + 1] = this.#used;
    this.#lengths[index] = indicator.length;
    this.#kinds[index] = indicatorKinds.indexOf(kind);
    this.#threatOf[index] = this.#threatNumber(words(threat, threatMax));
    return index;
  }

  #threatNumber(threat: string): number {
    const known = this.#threats.get(threat);
    if (known !== undefined || this.#threats.size >= threatsMax) return known ?? 0;
    this.#threats.set(threat, this.#threats.size);
    return this.#threats.size - 1;
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes > textBytesMax) throw new FeedRefused('The feed lists more text than is kept.');
    if (this.#used + bytes > this.#text.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#text.length, this.#used + bytes));
      this.#text.copy(grown, 0, 0, this.#used);
      this.#text = grown;
    }
    if (this.count + 2 > this.#offsets.length) {
      const size = 2 * this.#offsets.length;
      this.#offsets = grow(this.#offsets, new Uint32Array(size));
      this.#lengths = grow(this.#lengths, new Uint16Array(size));
      this.#kinds = grow(this.#kinds, new Uint8Array(size));
      this.#threatOf = grow(this.#threatOf, new Uint16Array(size));
    }
  }

  /** Returns copies of all tables, each in memory of its own and no longer than needed. */
  finish(): EntriesData {
    const { count } = this;
    return {
      count,
      text: new Uint8Array(this.#text.subarray(0, this.#used)),
      offsets: this.#offsets.slice(0, count + 1),
      lengths: this.#lengths.slice(0, count),
      kinds: this.#kinds.slice(0, count),
      threatOf: this.#threatOf.slice(0, count),
      threats: [...this.#threats.keys()],
    };
  }
}

function grow<T extends Uint32Array | Uint16Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Returns the words of a stranger for logs and pages: printable ASCII, cut to `max`. */
const words = (text: string, max: number): string => text.slice(0, max).replace(/[^\x20-\x7e]/g, '?');

export function entryAt(data: EntriesData, index: number): Entry {
  const begin = data.offsets[index] ?? 0;
  const middle = begin + (data.lengths[index] ?? 0);
  const bytes = Buffer.from(data.text.buffer, data.text.byteOffset, data.text.byteLength);
  return {
    kind: indicatorKinds[data.kinds[index] ?? 0] ?? 'url',
    indicator: bytes.toString('latin1', begin, middle),
    reference: bytes.toString('latin1', middle, data.offsets[index + 1]),
    threat: data.threats[data.threatOf[index] ?? 0] ?? '',
  };
}

/**
 * Tells whether an entry is `host` from `hostFrom` on, followed by the first `pathLength` characters of
 * `path`.
 */
export function isEntry(
  data: EntriesData,
  index: number,
  host: string,
  hostFrom: number,
  path: string,
  pathLength: number,
): boolean {
  const hostLength = host.length - hostFrom;
  if (data.lengths[index] !== hostLength + pathLength) return false;
  const begin = data.offsets[index] ?? 0;
  for (let at = 0; at < hostLength; at++)
    if (data.text[begin + at] !== host.charCodeAt(hostFrom + at)) return false;
  for (let at = 0; at < pathLength; at++)
    if (data.text[begin + hostLength + at] !== path.charCodeAt(at)) return false;
  return true;
}

/** Tells whether two entries list the same indicator. */
export function isSameText({ text, offsets, lengths }: EntriesData, a: number, b: number): boolean {
  const [beginA = 0, beginB = 0, length = 0] = [offsets[a], offsets[b], lengths[a]];
  if (length !== lengths[b]) return false;
  for (let at = 0; at < length; at++) if (text[beginA + at] !== text[beginB + at]) return false;
  return true;
}
