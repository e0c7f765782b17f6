import type { DataClass, Finding } from '../core/call.ts';
import { bodyFormat } from './decode/body-format.ts';
import type { FieldFormat } from './decode/fields.ts';
import type { OpaqueContent } from './decode/packed/opaque.ts';
import type { Span } from './decode/span-map.ts';
import { type PlainSpace, plainJson } from './decode/unescape-json.ts';
import { decodeViews, type View } from './decode/views.ts';
import { outlineOf } from './kernel/outline.ts';
import { type DetectorEngine, type Match, type PartialSecret, Verdicts } from './match/engine.ts';
import { weighHints } from './match/evidence.ts';
import type { Placed } from './match/placed.ts';
import { findWords, hiddenNameEnd, type Words, type WordsFound, wordsOfList } from './match/rule-words.ts';
import { formFields } from './parts/form-fields.ts';
import { randomMatchFilterIn } from './parts/random-match-filter.ts';
import { decodedForm } from './parts/unread-coding.ts';
import { isVendorHost } from './patterns/vendor-hosts.ts';
import { createLocator } from './redact/locate.ts';
import {
  type Beginning,
  beginningOf,
  type KnownBeginning,
  type KnownBy,
  nothingKnown,
  rememberBeginning,
  standsInKnown,
  type WordEnd,
} from './segments/known-beginning.ts';
import { findKnownValues, type LocatedMatch } from './split/known-values.ts';
import { mayGoOn } from './split/secret-beginning.ts';
import { findSplit } from './split/split-values.ts';

const depthMax = 3;
const findingsMax = 1000;
/** Length of a value that may lie across the place where reading begins. */
const valueBytesMax = 512;
const tooMany = 'there are too many findings';
const tooLong = 'reading took too long';
const none: readonly never[] = Object.freeze([]);

/** Tells where in a part an offset lies: `body:$.path`, `query:name`. */
export type Locate = (offset: number) => string;

/** Limits how much of a call is read, by the settings of its tenant. */
export interface ReadBounds {
  /** Limits the bytes of all decoded forms of a part together. */
  readonly maxDecodedBytes: number;
  /** Answers whether the time for reading is over; the call is then unreadable. */
  readonly isOver: () => boolean;
}

/** One part of a call: the head, or the body. */
export interface CallPart {
  readonly name: Finding['part'];
  readonly bytes: Buffer;
  readonly format: FieldFormat;
  /** Holds the decoded content, where the content type says that the part as a whole is coded. */
  readonly decoded?: Buffer | undefined;
  /** Host that the call goes to. */
  readonly host: string;
  /** Lets reading resume where the beginning equals that of an earlier body. */
  readonly knownBy?: KnownBy | undefined;
  /** Lists the words that rules look for. */
  readonly words?: readonly string[] | undefined;
  /**
   * Receives the part without its escapes. Views and texts of the reading are valid until the space is used again.
   */
  readonly space?: PlainSpace | undefined;
  /** Names classes with too many findings in `uncounted` instead of making the part unreadable. */
  readonly mayBeMany?: true;
  /** Answers, in place of the vendor's own places, whether what a detector finds at this place is no leak. */
  isAtHome?(detector: Match['detector'], start: number): boolean;
  /** Makes the locator, only where something was found. No location quotes any of the `hidden` findings. */
  locator(hidden: readonly { start: number; end: number }[]): Locate;
}

/** Makes a part of a body, in the format that its content type or its first bytes tell. */
export function bodyPart(bytes: Buffer, contentType: string, host: string): CallPart {
  const format = bodyFormat(contentType, bytes);
  return {
    name: 'body',
    bytes,
    format,
    decoded: decodedForm(bytes, contentType),
    host,
    locator(hidden) {
      const locate = createLocator(format, bytes, [...hidden]);
      return (offset) => `body:${locate(offset)}`;
    },
  };
}

export interface PartResult {
  readonly findings: readonly Finding[];
  /** Holds the part and its decoded forms, the part itself first. */
  readonly texts: readonly Buffer[];
  /** Holds the searched texts with their places in the part; those of a known beginning are left out. */
  readonly views: readonly View[];
  /** Holds the texts that are neither the part itself nor the part without its escapes. */
  readonly decoded: readonly Buffer[];
  /** Holds both ends of each text, where the unescaped part stands for the part itself. */
  readonly ends: readonly Buffer[];
  /** Tells which of the part's words occur; undefined where the part has no words. */
  readonly wordsFound: WordsFound | undefined;
  /** Lists content that was passed over, as `image at body:$.file`. */
  readonly opaque: readonly string[];
  /**
   * Names classes of which only the first findings are listed, so that they cannot be cut out. It never names
   * SECRETS.
   */
  readonly uncounted: readonly DataClass[];
  /** Says why reading stopped before the end. */
  readonly unreadable: string | undefined;
  /** Says that the time was over, which proves nothing about the content. */
  readonly isOutOfTime: boolean;
}

/**
 * Finds secrets and personal data in a part, as it is and decoded. A part that exceeds the bounds is `unreadable`.
 */
export function readPart(part: CallPart, engine: DetectorEngine, bounds: ReadBounds): PartResult {
  const { format, decoded, knownBy } = part;
  const mayBeKnown = format === 'json' && !decoded;
  const beginning = knownBy && mayBeKnown ? beginningOf(part, engine, knownBy) : undefined;
  const known = beginning?.known ?? nothingKnown;
  const { reading, isKnownNew } = readFrom(part, engine, bounds, known, beginning);
  return isKnownNew ? readFrom(part, engine, bounds, nothingKnown, beginning).reading : reading;
}

/**
 * Reads from where the known beginning ends. `isKnownNew` asks to read all, since a new value stands in the beginning
 * too.
 */
function readFrom(
  part: CallPart,
  engine: DetectorEngine,
  { maxDecodedBytes, isOver }: ReadBounds,
  known: KnownBeginning,
  beginning: Beginning | undefined,
): { readonly reading: PartResult; readonly isKnownNew: boolean } {
  const { bytes, format, decoded, space } = part;
  const { from, settledTo, newFrom } = known;
  const decodedViews = decodeViews(bytes, {
    maxDecodedBytes,
    depthMax,
    isOver,
    isForm: format === 'form',
    isJson: format === 'json',
    from,
    decoded,
    space,
  });
  const { views, highEntropyRegions, reaches, unreadable, isOutOfTime } = decodedViews;
  const isNew = ({ end }: Span): boolean => end > settledTo;
  const opaque = [...known.opaque, ...decodedViews.opaque.filter(isNew)];
  const withoutRandomMatches = randomMatchFilterIn(bytes, highEntropyRegions);
  const form = format === 'form' ? formFields(bytes) : undefined;
  let problem = unreadable;
  const limits = { matchesMax: findingsMax, isOver };
  const found: LocatedMatch[] = [...known.found];
  const uncounted = new Set<DataClass>();
  const hints: LocatedMatch[] = [...known.hints];
  const partialSecrets: Placed<PartialSecret>[] = [...known.partialSecrets];
  const verdicts = views.length > 1 ? new Verdicts() : undefined;
  for (const view of views) {
    if (view.isSuperseded) continue;
    // A detector of an incomplete search may have missed a match, so earlier verdicts no longer hold.
    const isKnown = problem === undefined ? view.isKnown : undefined;
    const earlier = verdicts && { verdicts, isKnown };
    const {
      matches,
      hints: seen,
      partialSecrets: cut,
      complete,
      uncounted: more,
    } = engine.find(view.bytes, limits, view.outline, earlier);
    if (!complete) problem ??= isOver() ? tooLong : tooMany;
    for (const name of more) uncounted.add(name);
    const placed = <T extends Match | PartialSecret>(all: readonly T[], of = view) =>
      all.length === 0 ? none : withoutRandomMatches(of, placedIn(of, all)).filter(isNew);
    const own = form ? matches.map((match) => form.within(view, match)) : matches;
    found.push(...(view.isTable ? unseen(placed(own), found) : placed(own)));
    hints.push(...placed(seen));
    if (!view.isTable && cut.length > 0)
      partialSecrets.push(...placed(cut.filter((it) => mayGoOn(view.bytes, it))));
    if (form && own.some((match, at) => match !== matches[at])) {
      const fields = form.apart(view);
      const apart = engine.find(fields.bytes, limits, fields.outline);
      if (!apart.complete) problem ??= isOver() ? tooLong : tooMany;
      found.push(...unseen(placed(apart.matches, fields), found));
    }
  }
  const whole = new Whole(bytes, views, known);
  const wordEnds = part.words && wordEndsIn(wordsOfList(part.words), views, known);
  let isKnownNew = false;
  const plain = from === undefined ? whole.searched : whole;
  if (whole.searched && plain && problem !== tooMany) {
    const split = findSplit({ bytes, plain, format, found, partialSecrets, newFrom }, engine, {
      maxDecodedBytes,
      isOver,
    });
    found.push(...split.map((it) => ({ ...it, view: undefined })));
    const shown = found.slice(known.found.length);
    found.push(...distinct(weighHints(found, hints)));
    const knownValueMatches = findKnownValues(
      found,
      from === undefined ? views : newTexts(bytes, views, from),
      {
        ...{ max: findingsMax, isOver, uncounted },
      },
    );
    isKnownNew = from !== undefined && standsInKnown(found, known, () => whole.knownTexts());
    found.push(...known.knownValueMatches, ...knownValueMatches);
    if (found.length > 0 && isOver()) problem ??= tooLong;
    if (beginning && !isKnownNew && problem === undefined && uncounted.size === 0) {
      const searched = views.filter((it) => !it.isSuperseded);
      rememberBeginning(bytes, beginning, known, engine, {
        ...{
          found: shown,
          knownValueMatches,
          hints,
          partialSecrets,
          opaque,
          across: [...highEntropyRegions, ...reaches],
        },
        wordEnds: wordEnds ?? none,
        ...{ views: searched, decoded: searched.slice(1) },
      });
    }
  }
  const kept = firstOfEach(distinct(found), uncounted);
  if (uncounted.has('SECRETS') || (uncounted.size > 0 && !part.mayBeMany)) problem ??= tooMany;
  const reading = new PartReading(whole, {
    views,
    findings: found.length === 0 ? none : toFindings(part, kept),
    ends: whole.ends(),
    wordsFound: part.words && wordsFoundIn(part.words, wordEnds, whole),
    opaque: opaque.length === 0 ? none : toPlaces(part, found, opaque),
    uncounted: uncounted.size === 0 ? none : [...uncounted],
    unreadable: problem,
    isOutOfTime: isOutOfTime || problem === tooLong,
  });
  return { reading, isKnownNew };
}

/** Makes the texts of a reading only when they are asked for. */
class PartReading implements PartResult {
  readonly views: PartResult['views'];
  readonly findings: PartResult['findings'];
  readonly ends: PartResult['ends'];
  readonly wordsFound: PartResult['wordsFound'];
  readonly opaque: PartResult['opaque'];
  readonly uncounted: PartResult['uncounted'];
  readonly unreadable: PartResult['unreadable'];
  readonly isOutOfTime: boolean;
  readonly #whole: Whole;

  constructor(whole: Whole, told: Omit<PartResult, 'texts' | 'decoded'>) {
    this.#whole = whole;
    this.views = told.views;
    this.findings = told.findings;
    this.ends = told.ends;
    this.wordsFound = told.wordsFound;
    this.opaque = told.opaque;
    this.uncounted = told.uncounted;
    this.unreadable = told.unreadable;
    this.isOutOfTime = told.isOutOfTime;
  }

  get texts(): readonly Buffer[] {
    return this.#whole.texts;
  }

  get decoded(): readonly Buffer[] {
    return this.#whole.decoded;
  }
}

/** Stands among the indices of words for a name that is hidden. */
const hiddenNames = -1;

/** Lists where each word and hidden names first end; undefined where only all texts together can tell. */
function wordEndsIn(
  words: Words,
  views: readonly View[],
  known: KnownBeginning,
): readonly WordEnd[] | undefined {
  if (!words.havePlaces) return undefined;
  const ends = new Map(known.wordEnds.map(({ word, end }) => [word, end]));
  const isRead = (view: View): boolean => known.from === undefined || view !== views[0];
  for (const view of views) {
    const note = (word: number, at: number): void => {
      const { end } = view.toSource(at - 1, at);
      ends.set(word, Math.min(ends.get(word) ?? Number.POSITIVE_INFINITY, end));
    };
    if (!view.isSuperseded) for (const [word, at] of words.firstEnds(view.bytes)) note(word, at);
    const hiddenAt = isRead(view) ? hiddenNameEnd(view.bytes) : undefined;
    if (hiddenAt !== undefined) note(hiddenNames, hiddenAt);
  }
  return [...ends].map(([word, end]) => ({ word, start: end, end }));
}

function wordsFoundIn(
  list: readonly string[],
  wordEnds: readonly WordEnd[] | undefined,
  whole: Whole,
): WordsFound {
  if (!wordEnds) return findWords(list, whole.texts);
  const found = Buffer.alloc(wordEnds.length > 0 ? list.length : 0);
  let hidesNames = false;
  for (const { word } of wordEnds) {
    if (word === hiddenNames) hidesNames = true;
    else found[word] = 1;
  }
  return { found, hidesNames };
}

/** Limits the forms of one body of which the ends are kept. */
const endingTextsMax = 4;
/** The ends suffice because a request begins with its task and a conversation ends with its newest turn. */
const endBytes = 4_096;
/** Length of a body's start that is unescaped, so that about `endBytes` of plain text are left. */
const startBytes = 4 * endBytes;

/** Whole part of which the beginning may be known. Its forms are made only when they are asked for. */
class Whole {
  /** Searched text, or the end of it; undefined where time or room ran out before. */
  readonly searched: View | undefined;
  readonly #searchedAt: number;
  readonly #bytes: Buffer;
  readonly #views: readonly View[];
  readonly #known: KnownBeginning;
  #plain: Buffer | undefined;
  #texts: readonly Buffer[] | undefined;

  constructor(bytes: Buffer, views: readonly View[], known: KnownBeginning) {
    this.#bytes = bytes;
    this.#views = views;
    this.#known = known;
    this.#searchedAt = views.findIndex((it) => !it.isSuperseded);
    this.searched = views[this.#searchedAt];
  }

  get decoded(): readonly Buffer[] {
    return [...this.#views.slice(this.#searchedAt + 1).map((it) => it.bytes), ...this.#known.decoded];
  }

  /** Returns the text without its escapes. */
  get bytes(): Buffer {
    const { searched } = this;
    this.#plain ??= searched?.isTail ? plainJson(this.#bytes) : (searched?.bytes ?? this.#bytes);
    return this.#plain;
  }

  get outline(): View['outline'] {
    const { searched } = this;
    return searched && !searched.isTail ? searched.outline : outlineOf(this.bytes);
  }

  get texts(): readonly Buffer[] {
    if (this.#views.length === 0) return this.decoded;
    const both = this.bytes.length === this.#bytes.length ? [this.#bytes] : [this.#bytes, this.bytes];
    this.#texts ??= [...both, ...this.decoded];
    return this.#texts;
  }

  /** Returns the known beginning in all its forms, and `valueBytesMax` more, since a value may lie across its end. */
  knownTexts(): readonly Buffer[] {
    const { from = 0, decoded } = this.#known;
    const plainTo = this.bytes.length - (this.searched?.bytes.length ?? 0) + valueBytesMax;
    return [this.#bytes.subarray(0, from + valueBytesMax), this.bytes.subarray(0, plainTo), ...decoded];
  }

  ends(): readonly Buffer[] {
    if (!this.searched) return none;
    const from = this.#searchedAt + 1;
    if (from === this.#views.length && this.#known.decoded.length === 0) return this.#ownEnds(this.searched);
    const later = this.#views.slice(from, from + endingTextsMax - 1);
    const ends = [...this.#ownEnds(this.searched)];
    for (const view of later) ends.push(...this.#endsIn(view));
    for (const text of this.#known.decoded.slice(0, endingTextsMax - 1 - later.length))
      ends.push(...endsOf(text));
    return ends;
  }

  /** Returns the pieces of a decoded form that come from the ends of the part. */
  #endsIn({ bytes, toSource }: View): readonly Buffer[] {
    const whole = this.#bytes.length;
    if (whole <= 2 * endBytes) return endsOf(bytes);
    const { length } = bytes;
    const headTo = firstWhere(length, (at) => toSource(at, at + 1).start >= endBytes);
    const tailFrom = firstWhere(length, (at) => toSource(at, at + 1).end > whole - endBytes);
    const to = Math.min(headTo, endBytes);
    const from = Math.max(tailFrom, length - endBytes);
    if (to >= from) return [bytes];
    return [bytes.subarray(0, to), bytes.subarray(from)].filter((it) => it.length > 0);
  }

  #ownEnds({ bytes, isTail }: View): readonly Buffer[] {
    if (isTail && bytes.length >= endBytes) {
      const start = plainJson(this.#bytes.subarray(0, startBytes));
      // The last bytes of the start may be half an escape.
      if (start.length >= 2 * endBytes)
        return [start.subarray(0, endBytes), bytes.subarray(bytes.length - endBytes)];
    }
    return endsOf(this.bytes);
  }
}

/** Returns the first multiple of 64 for which `holds` is true, by binary search; `end` where there is none. */
function firstWhere(end: number, holds: (at: number) => boolean): number {
  let [low, high] = [0, Math.ceil(end / 64)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(64 * middle)) high = middle;
    else low = middle + 1;
  }
  return Math.min(end, 64 * low);
}

/** Returns both ends of a long text, or a short text as a whole. */
const endsOf = (text: Buffer): readonly Buffer[] =>
  text.length <= 2 * endBytes ? [text] : [text.subarray(0, endBytes), text.subarray(text.length - endBytes)];

/** Returns the new end of a body in all its forms, the raw bytes among them where the body is read unescaped. */
function newTexts(
  bytes: Buffer,
  views: readonly View[],
  from: number,
): readonly Pick<View, 'bytes' | 'toSource'>[] {
  const forms = views.filter((it) => !it.isSuperseded);
  if (views.length === forms.length + 1) return forms;
  const toSource = (start: number, end: number): Span => ({ start: from + start, end: from + end });
  return [{ bytes: bytes.subarray(from), toSource }, ...forms];
}

const placedIn = <T extends Match | PartialSecret>(view: View, all: readonly T[]) =>
  all.map((match) => ({ match, view, ...view.toSource(match.start, match.end) }));

/** Keeps one match for each detector and place, since the same value is often found in a decoded form again. */
function distinct(found: readonly LocatedMatch[]): readonly LocatedMatch[] {
  if (found.length < 2) return found;
  return [...new Map(found.map((it) => [keyOf(it), it])).values()];
}

/**
 * Keeps at most `findingsMax` of each class and as many of low confidence. Classes with more are added to
 * `uncounted`.
 */
function firstOfEach(found: readonly LocatedMatch[], uncounted: Set<DataClass>): readonly LocatedMatch[] {
  if (found.length <= findingsMax) return found;
  const counts = new Map<DataClass | 'low', number>();
  return found.filter(({ match: { detector, confidence } }) => {
    const counted = confidence === 'low' ? 'low' : detector.class;
    const count = (counts.get(counted) ?? 0) + 1;
    counts.set(counted, count);
    if (count <= findingsMax) return true;
    if (counted !== 'low') uncounted.add(counted);
    return false;
  });
}

/** Returns the matches of a table that were not found before, since a table repeats the text it is made of. */
function unseen(found: readonly LocatedMatch[], known: readonly LocatedMatch[]): LocatedMatch[] {
  if (found.length === 0) return [];
  const keys = new Set(known.map(keyOf));
  return found.filter((it) => !keys.has(keyOf(it)));
}

const keyOf = ({ match, start, end }: LocatedMatch): string => `${match.detector.id}:${start}:${end}`;

function toFindings(part: CallPart, found: readonly LocatedMatch[]): Finding[] {
  const locate = part.locator(found);
  return found.map(({ match: { detector, confidence }, start, end }) => {
    const location = locate(start);
    const { class: dataClass, id: kind, vendorHosts } = detector;
    const atHome = part.isAtHome ? part.isAtHome(detector, start) : isHome(detector, part.host, location);
    return { class: dataClass, kind, confidence, location, part: part.name, start, end, atHome, vendorHosts };
  });
}

function toPlaces(
  part: CallPart,
  found: readonly LocatedMatch[],
  opaque: readonly OpaqueContent[],
): string[] {
  const locate = part.locator(found);
  return [...new Set(opaque.map(({ kind, start }) => `${kind} at ${locate(start)}`))];
}

/**
 * Answers whether a credential stands where its vendor expects it: in one of `homePlaces`, at one of the vendor's
 * hosts. Elsewhere at that host it may be on its way to another customer of the vendor.
 */
function isHome({ vendorHosts, homePlaces }: Match['detector'], host: string, location: string): boolean {
  return homePlaces.includes(location.toLowerCase()) && isVendorHost(host, vendorHosts);
}
