import { createCache } from '../cache.ts';

/*
 * Counts calls by minute, hour and day (UTC), for charts. The counts are made where journal lines are stored,
 * in the same step, so that each call counts once. Calls pay nothing for them.
 */

export const statIntervals = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
export type StatInterval = keyof typeof statIntervals;
export const statIntervalNames = Object.keys(statIntervals) as readonly StatInterval[];

/**
 * The dimensions of the counts. A call has one value of each, but several reasons. Missing values are not
 * counted.
 */
export const statDimensions = ['decision', 'reason', 'band', 'tool', 'agent'] as const;
export type StatDimension = (typeof statDimensions)[number];

/**
 * Further dimensions, which no chart shows. They tell searches which buckets have none of a name. A call may
 * have several tags and classes. Counts of older versions lack these dimensions, so their counts come with
 * the number of calls that they cover.
 */
const searchDimensions = ['operation', 'class', 'tag'] as const;
export type SearchDimension = (typeof searchDimensions)[number];
export const isSearchDimension = (name: string): name is SearchDimension =>
  (searchDimensions as readonly string[]).includes(name);
export type SearchCounts = Record<SearchDimension, StatNames> & { calls: number };

/** The limit of names in one dimension of a bucket; calls with further names count under `otherName`. */
export const statNamesMax = 256;
/** The name of all further calls: no name of a call is empty. */
export const otherName = '';
/** The length of the counted part of a name, in characters. Names of rules and catalogues are shorter. */
export const statNameLengthMax = 128;

const dayMs = 86_400_000;

/** How long buckets are kept, in milliseconds. Days are kept as long as the traces of their tenant. */
export const statKeptMs = { minute: 2 * dayMs, hour: 60 * dayMs } as const;

export const statStart = (ms: number, interval: StatInterval): number =>
  Math.floor(ms / statIntervals[interval]) * statIntervals[interval];

/** The number of calls by name. */
export type StatNames = Record<string, number>;
export type StatCounts = Record<StatDimension, StatNames>;

export const noCounts = (): StatCounts => ({
  decision: newNames(),
  reason: newNames(),
  band: newNames(),
  tool: newNames(),
  agent: newNames(),
});

export const noSearchCounts = (): SearchCounts => ({
  calls: 0,
  operation: newNames(),
  class: newNames(),
  tag: newNames(),
});

export function addSearchCounts(into: SearchCounts, from: Partial<SearchCounts>): void {
  into.calls += from.calls ?? 0;
  for (const dimension of searchDimensions) addNames(into[dimension], from[dimension] ?? {}, statNamesMax);
}

/** Returns an object that inherits nothing, since names come from requests. */
const newNames = (): StatNames => Object.create(null) as StatNames;

/** Adds counts. Names without room count under `otherName`. */
function addNames(into: StatNames, from: StatNames, namesMax: number): void {
  if (namesMax === Number.POSITIVE_INFINITY) {
    // The minutes of a day have a hundred thousand names, so this path does little for each.
    for (const name in from) into[name] = (into[name] ?? 0) + (from[name] ?? 0);
    return;
  }
  let size = Object.keys(into).length - (into[otherName] === undefined ? 0 : 1);
  for (const [name, count] of Object.entries(from)) {
    const isKnown = name === otherName || into[name] !== undefined;
    const kept = isKnown || size < namesMax ? name : otherName;
    if (!isKnown && kept === name) size += 1;
    into[kept] = (into[kept] ?? 0) + count;
  }
}

/** Adds counts. A sum of several buckets may have more names than one bucket: see `namesMax`. */
export function addCounts(into: StatCounts, from: Partial<StatCounts>, namesMax = statNamesMax): void {
  for (const dimension of statDimensions) addNames(into[dimension], from[dimension] ?? {}, namesMax);
}

/** The counted facts of a trace, beside its agent and decision. */
export interface TraceFacts {
  readonly tool: string | undefined;
  readonly band: string | undefined;
  readonly operation: string | undefined;
  readonly reasons: readonly string[];
  readonly classes: readonly string[];
  readonly tags: readonly string[];
}

const toolMember = '"tool_name":"';
const bandMember = '"risk_band":"';
const operationMember = '"operation":"';
const reasonsMember = '"reason_codes":[';
const classesMember = '"classifications":[';
const tagsMember = '"tags":[';
const factsMax = 4_096;
/** The longest piece of a trace that is remembered, in characters. A longer one is parsed each time. */
const sliceLengthMax = 1_024;

/**
 * Reads the counted facts from traces without parsing them. Within a text of JSON each quote is escaped. So a
 * name with its quotes and its colon can only be that member. The gateway writes it at the top, before
 * anything that is nested. `latin1` says that the text has a character for each byte of UTF-8.
 */
export class FactReader {
  readonly #coding: 'text' | 'latin1';
  // Keys and values are copies, since a slice would keep its whole batch in memory.
  readonly #names = createCache<string>(factsMax);
  readonly #lists = createCache<readonly string[]>(factsMax);
  /**
   * The text that was read last. `#found` has the last place of each member in it, so that lines without a
   * member do not search all later ones.
   */
  #searched = '';
  readonly #found = new Map<string, number>();

  constructor(coding: 'text' | 'latin1') {
    this.#coding = coding;
  }

  /** Reads the trace between these places. The traces of one text must come in their order. */
  read(text: string, start: number, end: number): TraceFacts {
    if (text !== this.#searched) this.#found.clear();
    this.#searched = text;
    return {
      tool: this.#nameAt(text, toolMember, start, end),
      band: this.#nameAt(text, bandMember, start, end),
      operation: this.#nameAt(text, operationMember, start, end),
      reasons: this.#listAt(text, reasonsMember, start, end),
      classes: this.#listAt(text, classesMember, start, end),
      tags: this.#listAt(text, tagsMember, start, end),
    };
  }

  #copy(slice: string): string {
    return this.#coding === 'latin1'
      ? Buffer.from(slice, 'latin1').toString('latin1')
      : Buffer.from(slice).toString();
  }

  #decode(slice: string): string {
    return this.#coding === 'latin1' ? Buffer.from(slice, 'latin1').toString() : slice;
  }

  #parsed<T>(slice: string, otherwise: T): T {
    try {
      return JSON.parse(this.#decode(slice)) as T;
    } catch {
      // Such a line is not counted by this fact; it is kept and listed as it is.
      return otherwise;
    }
  }

  /** Returns the place behind a member; undefined where the line has none. */
  #placeOf(text: string, member: string, start: number, end: number): number | undefined {
    let at = this.#found.get(member) ?? start - 1;
    if (at !== Number.POSITIVE_INFINITY && at < start) {
      const next = text.indexOf(member, start);
      at = next === -1 ? Number.POSITIVE_INFINITY : next;
      this.#found.set(member, at);
    }
    return at < end ? at + member.length : undefined;
  }

  #nameAt(text: string, member: string, start: number, end: number): string | undefined {
    const from = this.#placeOf(text, member, start, end);
    if (from === undefined) return undefined;
    const slice = text.slice(from - 1, endOfText(text, from, end));
    const known = this.#names.get(slice);
    if (known !== undefined) return known || undefined;
    const name = statName(this.#parsed<string>(slice, ''));
    if (slice.length <= sliceLengthMax) this.#names.set(this.#copy(slice), name);
    return name || undefined;
  }

  #listAt(text: string, member: string, start: number, end: number): readonly string[] {
    const from = this.#placeOf(text, member, start, end);
    if (from === undefined) return none;
    const close = text.indexOf('"]', from);
    if (close === -1 || close >= end) return none;
    const slice = text.slice(from - 1, close + 2);
    const known = this.#lists.get(slice);
    if (known) return known;
    const all = this.#parsed<unknown[]>(slice, []).map((it) => statName(String(it)));
    const named = [...new Set(all.filter((it) => it !== ''))];
    const list = named.length > reasonsMax ? [...named.slice(0, reasonsMax), otherName] : named;
    if (slice.length <= sliceLengthMax) this.#lists.set(this.#copy(slice), list);
    return list;
  }
}

/** The limit of a call's reasons, and of its classes and tags; further ones count together, as one. */
const reasonsMax = 32;
const none: readonly string[] = [];

/** Returns a name in its counted form. */
export const statName = (name: string): string => name.slice(0, statNameLengthMax).toWellFormed();

/** Returns the place behind the quote that ends a text of JSON; `end` where it has no end. */
function endOfText(text: string, from: number, end: number): number {
  for (let at = text.indexOf('"', from); at !== -1 && at < end; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
  return end;
}

/** The counts of the calls of one tenant and minute. */
export interface MinuteCounts {
  readonly tenantId: string;
  readonly startMs: number;
  readonly counts: StatCounts;
  readonly names: SearchCounts;
}

interface Counted {
  readonly tenantId: string;
  readonly agentId: string;
  readonly decision: string;
}

/** Sums up the calls of a batch by tenant and minute. */
export function createStatTally(): {
  add(call: Counted, atMs: number, facts: TraceFacts): void;
  take(): readonly MinuteCounts[];
} {
  let byMinute = new Map<string, MinuteCounts>();
  let last: MinuteCounts | undefined;

  function minuteOf(tenantId: string, atMs: number): MinuteCounts {
    const startMs = statStart(atMs, 'minute');
    if (last?.startMs === startMs && last.tenantId === tenantId) return last;
    const key = `${startMs} ${tenantId}`;
    last = byMinute.get(key) ?? { tenantId, startMs, counts: noCounts(), names: noSearchCounts() };
    byMinute.set(key, last);
    return last;
  }

  return {
    add({ tenantId, agentId, decision }, atMs, { tool, band, operation, reasons, classes, tags }) {
      const { counts, names } = minuteOf(tenantId, atMs);
      bump(counts.decision, decision);
      bump(counts.agent, agentId);
      if (band !== undefined) bump(counts.band, band);
      if (tool !== undefined) bump(counts.tool, tool);
      for (const reason of reasons) bump(counts.reason, reason);
      names.calls += 1;
      if (operation !== undefined) bump(names.operation, operation);
      for (const name of classes) bump(names.class, name);
      for (const tag of tags) bump(names.tag, tag);
    },
    take() {
      const taken = [...byMinute.values()];
      byMinute = new Map();
      last = undefined;
      return taken;
    },
  };
}

/** Returns stored counts as an object that inherits nothing. */
export function toCounts(stored: Partial<StatCounts>): StatCounts {
  const counts = noCounts();
  for (const dimension of statDimensions) Object.assign(counts[dimension], stored[dimension]);
  return counts;
}

/** Adds one call. The names have no bound here, since a batch has one. */
function bump(names: StatNames, name: string): void {
  names[name] = (names[name] ?? 0) + 1;
}
