import type { DataClass, Finding } from '../core/call.ts';
import { bodyFormat } from './decode/body-format.ts';
import { type Bounds, tookTooLong } from './decode/budget.ts';
import type { FieldFormat } from './decode/fields.ts';
import type { OpaqueContent } from './decode/packed/opaque.ts';
import type { Span } from './decode/span-map.ts';
import type { PlainSpace } from './decode/unescape-json.ts';
import { decodeViews, type View } from './decode/views.ts';
import {
  type DetectorEngine,
  type Earlier,
  type FindLimits,
  type Found,
  type Match,
  type PartialSecret,
  Verdicts,
} from './match/engine.ts';
import { weighHints } from './match/evidence.ts';
import { type Placed, placeKey, unseen } from './match/placed.ts';
import { type WordsFound, wordsOfList } from './match/rule-words.ts';
import { newTexts, PartTexts, wordEndsIn, wordsFoundIn } from './part-texts.ts';
import { formFields } from './parts/form-fields.ts';
import { type RandomMatchFilter, randomMatchFilterIn } from './parts/random-match-filter.ts';
import { decodedForm } from './parts/unread-coding.ts';
import { isVendorHost } from './patterns/vendor-hosts.ts';
import { createLocator } from './redact/locate.ts';
import {
  type Beginning,
  beginningOf,
  type KnownBeginning,
  type KnownBy,
  nothingKnown,
  standsInKnown,
} from './segments/known-beginning.ts';
import { rememberBeginning } from './segments/remember-beginning.ts';
import { findKnownValues, type LocatedMatch } from './split/known-values.ts';
import { mayGoOn } from './split/secret-beginning.ts';
import { findSplit, type SplitFound } from './split/split-values.ts';

const depthMax = 3;
const findingsMax = 1000;
const tooMany = 'there are too many findings';
const none: readonly never[] = Object.freeze([]);

/** Tells where in a part an offset lies: `body:$.path`, `query:name`. */
export type Locate = (offset: number) => string;

/** Bounds on how much of a call is read, by the settings of its tenant. */
export type ReadBounds = Omit<Bounds, 'depthMax'>;

/** One part of a call: the head, or the body. */
export interface CallPart {
  readonly name: Finding['part'];
  readonly bytes: Buffer;
  readonly format: FieldFormat;
  /** The decoded content; undefined unless the content type tells that the part as a whole is coded. */
  readonly decoded?: Buffer | undefined;
  /** The host that the call goes to. */
  readonly host: string;
  /**
   * Where reading looks up an earlier body with an equal beginning, to resume behind it; undefined where it
   * must not.
   */
  readonly knownBy?: KnownBy | undefined;
  /** The words that rules look for; undefined where they look for none. */
  readonly words?: readonly string[] | undefined;
  /**
   * The memory for the part without its escapes: for what of it is searched, and for all of it. Views and
   * texts of the reading are valid until this memory is used again.
   */
  readonly spaces?: { readonly searched: PlainSpace; readonly whole: PlainSpace } | undefined;
  /**
   * Tells whether classes with too many findings are named in `uncounted` instead of making the part
   * unreadable.
   */
  readonly mayBeMany?: true;
  /**
   * Tells whether what a detector finds at this place is no leak. Where this is missing, the vendor's own
   * places decide.
   */
  isAtHome?(detector: Match['detector'], start: number): boolean;
  /**
   * Creates the locator. It is called only where something was found. No location quotes any of the `hidden`
   * findings.
   */
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
  /** The part and its decoded forms, the part itself first. */
  readonly texts: readonly Buffer[];
  /** The searched texts with their places in the part. Those of a known beginning are left out. */
  readonly views: readonly View[];
  /** The texts that are neither the part itself nor the part without its escapes. */
  readonly decoded: readonly Buffer[];
  /** Both ends of each text, where the unescaped part stands for the part itself. */
  readonly ends: readonly Buffer[];
  /** Which of the part's words occur; undefined where the part has no words. */
  readonly wordsFound: WordsFound | undefined;
  /** Content that was passed over, as `image at body:$.file`. */
  readonly opaque: readonly string[];
  /**
   * Classes of which only the first findings are listed, so that they cannot be cut out. SECRETS is never
   * among them.
   */
  readonly uncounted: readonly DataClass[];
  /** Why reading stopped before the end; undefined where it did not. */
  readonly unreadable: string | undefined;
  /** Tells whether the time was over, which proves nothing about the content. */
  readonly isOutOfTime: boolean;
}

/**
 * Finds secrets and personal data in a part, as it is and decoded. A part that exceeds the bounds is
 * `unreadable`.
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
 * Reads from where the known beginning ends. `isKnownNew` asks the caller to read all, since a new value
 * stands in the beginning too.
 */
function readFrom(
  part: CallPart,
  engine: DetectorEngine,
  bounds: ReadBounds,
  known: KnownBeginning,
  beginning: Beginning | undefined,
): { readonly reading: PartResult; readonly isKnownNew: boolean } {
  const { maxDecodedBytes, isOver } = bounds;
  const { bytes, format, decoded, spaces } = part;
  const { from } = known;
  const isOf = { isForm: format === 'form', isJson: format === 'json' };
  const forms = decodeViews(bytes, {
    ...bounds,
    depthMax,
    ...isOf,
    from,
    decoded,
    space: spaces?.searched,
  });
  const { views } = forms;
  const search = new PartSearch(part, engine, forms, known, isOver);
  for (const view of views) if (!view.isSuperseded) search.searchView(view);
  const texts = new PartTexts(bytes, views, known, spaces?.whole);
  const wordEnds = part.words && wordEndsIn(wordsOfList(part.words), views, known);
  let isKnownNew = false;
  // There may be no view at all, where time or memory ran out before the first one.
  if (texts.searched && search.problem !== tooMany) {
    const shown = search.joinMatches(texts.searched, maxDecodedBytes);
    isKnownNew = from !== undefined && standsInKnown(search.found, known, () => texts.knownTexts());
    search.found.push(...known.knownValueMatches, ...shown.knownValueMatches);
    if (search.found.length > 0 && isOver()) search.problem ??= tookTooLong;
    if (beginning && !isKnownNew && search.problem === undefined && search.uncounted.size === 0) {
      const { hints, opaque } = search;
      const partialSecrets = distinct(search.partialSecrets);
      const searched = views.filter((it) => !it.isSuperseded);
      rememberBeginning(bytes, beginning, known, engine, {
        ...{ ...shown, hints, partialSecrets, opaque, wordEnds: wordEnds ?? none },
        ...{ views: searched, decoded: searched.slice(1) },
        across: [...forms.highEntropyRegions, ...forms.reaches],
      });
    }
  }
  const wordsFound = part.words && wordsFoundIn(part.words, wordEnds, texts);
  return { reading: new PartReading(texts, { views, wordsFound, ...search.result(forms) }), isKnownNew };
}

type Forms = ReturnType<typeof decodeViews>;

/** Collects what is found in the views of a part, beside what its known beginning shows. */
class PartSearch {
  readonly found: LocatedMatch[];
  readonly hints: LocatedMatch[];
  readonly partialSecrets: Placed<PartialSecret>[];
  readonly opaque: readonly OpaqueContent[];
  /** The classes with more findings than are kept. */
  readonly uncounted = new Set<DataClass>();
  /** Why the part could not be read to its end; the first reason stands. Undefined where it could. */
  problem: string | undefined;
  readonly #part: CallPart;
  readonly #engine: DetectorEngine;
  readonly #known: KnownBeginning;
  readonly #limits: FindLimits;
  readonly #form: ReturnType<typeof formFields>;
  readonly #views: readonly View[];
  readonly #verdicts: Verdicts | undefined;
  readonly #withoutRandomMatches: RandomMatchFilter;

  constructor(
    part: CallPart,
    engine: DetectorEngine,
    { views, highEntropyRegions, opaque, unreadable }: Forms,
    known: KnownBeginning,
    isOver: () => boolean,
  ) {
    this.#part = part;
    this.#engine = engine;
    this.#known = known;
    this.#views = views;
    this.#limits = { matchesMax: findingsMax, isOver };
    this.#form = part.format === 'form' ? formFields(part.bytes) : undefined;
    this.#verdicts = views.length > 1 ? new Verdicts() : undefined;
    this.#withoutRandomMatches = randomMatchFilterIn(part.bytes, highEntropyRegions);
    this.found = [...known.found];
    this.hints = [...known.hints];
    this.partialSecrets = [...known.partialSecrets];
    this.opaque = [...known.opaque, ...opaque.filter((it) => this.#isNew(it))];
    this.problem = unreadable;
  }

  /** Adds what one view shows. */
  searchView(view: View): void {
    // A detector of an incomplete search may have missed a match, so earlier verdicts no longer hold.
    const isKnown = this.problem === undefined ? view.isKnown : undefined;
    const earlier = this.#verdicts && { verdicts: this.#verdicts, isKnown };
    const { matches, hints, partialSecrets, uncounted } = this.#find(view, earlier);
    for (const name of uncounted) this.uncounted.add(name);
    const own = this.#form ? matches.map((match) => this.#form?.within(view, match) ?? match) : matches;
    const placed = this.#placed(view, own);
    // A table repeats the text that it is made of.
    this.found.push(...(view.isTable ? unseen(placed, this.found) : placed));
    this.hints.push(...this.#placed(view, hints));
    if (!view.isTable && partialSecrets.length > 0) {
      const continued = partialSecrets.filter((it) => mayGoOn(view.bytes, it));
      this.partialSecrets.push(...this.#placed(view, continued));
    }
    if (!this.#form || own.every((match, at) => match === matches[at])) return;
    const fields = this.#form.apart(view);
    this.found.push(...unseen(this.#placed(fields, this.#find(fields).matches), this.found));
  }

  /** Adds matches over several pieces, hints that count, and further places of known values. */
  joinMatches(
    searched: View,
    maxDecodedBytes: number,
  ): {
    readonly found: readonly LocatedMatch[];
    readonly knownValueMatches: readonly LocatedMatch[];
    readonly split: SplitFound;
  } {
    const { found, uncounted } = this;
    // Each form of the text has shown these beginnings once more.
    const partialSecrets = distinct(this.partialSecrets);
    const { bytes, format } = this.#part;
    const { from, newFrom, names: earlier } = this.#known;
    const { isOver } = this.#limits;
    const pieces = { bytes, searched, format, found, partialSecrets, newFrom, earlier };
    const split = findSplit(pieces, this.#engine, { maxDecodedBytes, isOver });
    found.push(...split.found.map((it) => ({ ...it, view: undefined, isJoined: true }) as const));
    const shown = found.slice(this.#known.found.length);
    found.push(...distinct(weighHints(found, this.hints)));
    const views = from === undefined ? this.#views : newTexts(bytes, this.#views, from);
    const knownValueMatches = findKnownValues(found, views, { max: findingsMax, isOver, uncounted });
    return { found: shown, knownValueMatches, split };
  }

  /** Returns the findings, and why there may be more. */
  result({ isOutOfTime }: Forms): Omit<PartResult, 'texts' | 'decoded' | 'ends' | 'views' | 'wordsFound'> {
    const { found, opaque, uncounted } = this;
    const kept = firstOfEach(distinct(found), uncounted);
    if (uncounted.has('SECRETS') || (uncounted.size > 0 && !this.#part.mayBeMany)) this.problem ??= tooMany;
    return {
      findings: found.length === 0 ? none : toFindings(this.#part, kept),
      opaque: opaque.length === 0 ? none : toPlaces(this.#part, found, opaque),
      uncounted: uncounted.size === 0 ? none : [...uncounted],
      unreadable: this.problem,
      isOutOfTime: isOutOfTime || this.problem === tookTooLong,
    };
  }

  #find({ bytes, outline }: View, earlier?: Earlier): Found {
    const found = this.#engine.find(bytes, this.#limits, outline, earlier);
    if (!found.complete) this.problem ??= this.#limits.isOver() ? tookTooLong : tooMany;
    return found;
  }

  #placed<T extends Match | PartialSecret>(view: View, all: readonly T[]) {
    if (all.length === 0) return none;
    const placed = all.map((match) => ({ match, view, ...view.toSource(match.start, match.end) }));
    // Names of columns are repeated in each row of a table, but stand in the source once, where they are
    // searched.
    const shown = placed.filter(({ start, end }) => start < end);
    return this.#withoutRandomMatches(view, shown).filter((it) => this.#isNew(it));
  }

  #isNew({ end }: Span): boolean {
    return end > this.#known.settledTo;
  }
}

/** Holds a reading, and makes its texts only when they are asked for. */
class PartReading implements PartResult {
  readonly views: PartResult['views'];
  readonly findings: PartResult['findings'];
  readonly ends: PartResult['ends'];
  readonly wordsFound: PartResult['wordsFound'];
  readonly opaque: PartResult['opaque'];
  readonly uncounted: PartResult['uncounted'];
  readonly unreadable: PartResult['unreadable'];
  readonly isOutOfTime: boolean;
  readonly #texts: PartTexts;

  constructor(texts: PartTexts, told: Omit<PartResult, 'texts' | 'decoded' | 'ends'>) {
    this.#texts = texts;
    this.views = told.views;
    this.findings = told.findings;
    this.ends = texts.ends();
    this.wordsFound = told.wordsFound;
    this.opaque = told.opaque;
    this.uncounted = told.uncounted;
    this.unreadable = told.unreadable;
    this.isOutOfTime = told.isOutOfTime;
  }

  get texts(): readonly Buffer[] {
    return this.#texts.texts;
  }

  get decoded(): readonly Buffer[] {
    return this.#texts.decoded;
  }
}

/** Returns one match for each detector and place, since a value is often found in a decoded form again. */
function distinct<T extends Placed<Match | PartialSecret>>(found: readonly T[]): readonly T[] {
  if (found.length < 2) return found;
  return [...new Map(found.map((it) => [placeKey(it), it])).values()];
}

/**
 * Returns at most `findingsMax` of each class and as many of low confidence. Classes with more are added to
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
 * Tells whether a credential stands where its vendor expects it: in one of `homePlaces`, at one of the
 * vendor's hosts. Elsewhere at that host it may be on its way to another customer of the vendor.
 */
function isHome({ vendorHosts, homePlaces }: Match['detector'], host: string, location: string): boolean {
  return homePlaces.includes(location.toLowerCase()) && isVendorHost(host, vendorHosts);
}
