import { kept } from '../../util/kept.ts';
import { anyFlag, textFlags } from '../kernel/outline.ts';
import type { Detector } from '../patterns/detector.ts';
import type { TokenBody } from '../patterns/partial-secret.ts';
import { markerStart } from './markers.ts';
import { type Beside, beside, createMatcher, type Matcher } from './matcher.ts';
import { tokenRunLengthMin } from './token-runs.ts';
import { turnedWords } from './turned-text.ts';

/* Plans a search: the words to look for, and what a hit of each means to which detector. */

/** A detector with its compiled pattern, which is sticky where the detector has anchors, else global. */
export interface SearchRule {
  readonly detector: Detector;
  readonly regex: RegExp;
  readonly index: number;
  /** Tells whether matches are secrets that begin with the anchor, so that one may be cut into pieces. */
  readonly mayBeCut: boolean;
  readonly tokenBody: TokenBody | undefined;
  /**
   * How many bytes before and behind a place decide whether the rule matches there; infinite where findings
   * of others do.
   */
  readonly lookaround: { readonly before: number; readonly after: number };
}

/**
 * What a word's hit means to one rule: a match may begin there, or be near, or the word is one. All that
 * decides about most hits stands here, since following a rule to its detector for each hit would cost more.
 */
export interface Use {
  readonly rule: SearchRule;
  readonly kind: 'anchor' | 'keyword' | 'match';
  readonly wordLength: number;
  /**
   * The spelling that the word must have; undefined where any case will do, and where the matcher compares
   * it.
   */
  readonly exact: Buffer | undefined;
  /** Tells whether an anchor counts only where a token may begin. */
  readonly startsToken: boolean;
  /**
   * Tells whether the word repeats one character. Then only the first and last place in a longer run count,
   * since zeros in base64 are such runs.
   */
  readonly isRun: boolean;
  /** Tells whether an anchor alone shows that a secret begins, because it is no word of ordinary text. */
  readonly isTelling: boolean;
  /** Tells whether names of code may begin with the anchor, as `pathIndex` does with `path`. */
  readonly mayBeginWord: boolean;
  /** Tells whether a keyword counts only as a word of its own. */
  readonly isWholeWord: boolean;
  /** How many bytes around a keyword are searched. */
  readonly window: Detector['window'];
  /**
   * Tells whether every match contains the keyword. Then it begins no earlier than the bytes before the
   * keyword allow.
   */
  readonly isOfMatch: boolean;
}

/**
 * The length in bytes from which an anchor in its own case begins a secret even inside a word. Otherwise a
 * letter before it would hide the secret.
 */
const unmistakableLength = 6;

/** What a search notes for each rule, at the rule's index. */
interface Room {
  /** The end of what the rule has matched, and how many anchors before that end may still be tried. */
  readonly matchedTo: Int32Array;
  readonly retriesLeft: Int32Array;
}

/** A word of one byte. */
interface Single {
  readonly byte: number;
  readonly uses: readonly Use[];
  /** The flag that the outline of a text has where this byte may occur. */
  readonly flag: number;
}

/** The plan of a set of detectors, made once. */
export interface SearchPlan {
  readonly matcher: Matcher;
  readonly usesOfWord: readonly (readonly Use[])[];
  /** The SHA-256 digests of texts that are no findings. */
  readonly allowSha256: ReadonlySet<string>;
  /** The words of one byte, which the matcher does not take. Nothing finds them faster than `indexOf`. */
  readonly singles: readonly Single[];
  /**
   * The uses of words at the start of a long run of letters and digits, by their two bytes. The first byte is
   * the lower one.
   */
  readonly runUses: ReadonlyMap<number, readonly Use[]>;
  readonly digitRules: readonly SearchRule[];
  /** The rules that are searched around the findings of others. */
  readonly nearRules: readonly SearchRule[];
  /** The ids of all detectors, even of those not used here, which redaction markers may name. */
  readonly ids: ReadonlySet<string>;
  /** The index of the word with which redaction markers begin. */
  readonly markerWord: number;
  /** The index of the first of the `turnedWords`; the others follow it. */
  readonly firstTurned: number;
  /** The notes of `Search`, of which only one runs at a time. */
  readonly room: Room;
}

/** Plans the search for these rules, in the order of their places. */
export function planSearch(
  rules: readonly SearchRule[],
  { allowSha256, ids }: Pick<SearchPlan, 'allowSha256' | 'ids'>,
  keptAs?: string,
): SearchPlan {
  const usesOf = usesOfWords(rules.filter((rule) => !beginsRun(rule)));
  const search = wordSearchOf(usesOf, folded(markerStart), keptAs);
  const singles = [...usesOf.keys()].filter((word) => Buffer.byteLength(word) === 1);
  const size = 1 + (rules.at(-1)?.index ?? -1);
  return {
    ...search,
    allowSha256,
    singles: singles.map((word) => singleOf(word, usesOf.get(word) ?? [])),
    runUses: Map.groupBy([...usesOfWords(rules.filter(beginsRun)).values()].flat(), ({ exact }) =>
      (exact as Buffer).readUInt16LE(),
    ),
    digitRules: rules.filter((rule) => rule.detector.digitsMin > 0),
    nearRules: rules.filter((rule) => rule.detector.near.length > 0),
    ids,
    markerWord: search.words.indexOf(folded(markerStart)),
    firstTurned: search.words.length - turnedWords.length,
    room: {
      matchedTo: new Int32Array(size),
      retriesLeft: new Int32Array(size),
    },
  };
}

/**
 * Tells whether all anchors of a rule are two bytes that begin a long run of letters and digits. Such a rule
 * is searched only there.
 */
const beginsRun = ({
  detector: { anchors, anchorCase, boundary, runLength },
  mayBeCut,
}: SearchRule): boolean =>
  anchors.length > 0 &&
  anchors.every((anchor) => /^[0-9A-Za-z]{2}$/.test(anchor)) &&
  anchorCase &&
  boundary &&
  !mayBeCut &&
  runLength >= tokenRunLengthMin;

const singleFlags: Readonly<Record<string, number>> = {
  '@': textFlags.at,
  '+': textFlags.plus,
  '(': textFlags.parenthesis,
};

function singleOf(word: string, uses: readonly Use[]): Single {
  return { byte: word.charCodeAt(0), uses, flag: singleFlags[word] ?? anyFlag };
}

/**
 * Prepares the search for the words of more than one byte, the redaction marker, and behind these the turned
 * words.
 */
function wordSearchOf(
  usesOf: ReadonlyMap<string, readonly Use[]>,
  marker: string,
  keptAs: string | undefined,
): Pick<SearchPlan, 'matcher' | 'usesOfWord'> & { readonly words: readonly string[] } {
  const found = [...usesOf].flatMap(([word, uses]) =>
    Buffer.byteLength(word) > 1 ? spellingsOf(word, uses) : [],
  );
  if (!usesOf.has(marker)) found.push({ word: marker, uses: [], isInCase: false });
  for (const { word } of turnedWords) found.push({ word, uses: [], isInCase: true });
  const words = found.map(({ word }) => word);
  const inCase = new Set(found.filter(({ isInCase }) => isInCase).map(({ word }) => word));
  const needs = new Map(found.map(({ word, uses }) => [word, neededBeside(uses)] as const));
  return {
    words,
    matcher: createMatcher(words, { inCase, needs, keptAs }),
    usesOfWord: found.map(({ uses }) => uses),
  };
}

/** Returns what all uses of a word need beside it. Redaction markers, which have no use, need nothing. */
function neededBeside(uses: readonly Use[]): Beside {
  if (uses.length === 0) return beside.anything;
  if (uses.every(({ isWholeWord, kind }) => kind === 'keyword' && isWholeWord)) return beside.ends;
  return uses.every(({ startsToken, kind }) => kind === 'anchor' && startsToken)
    ? beside.start
    : beside.anything;
}

interface Spelling {
  readonly word: string;
  readonly uses: readonly Use[];
  readonly isInCase: boolean;
}

/**
 * Returns a word as it is searched. Where all uses want an exact case, each spelling is a word of its own.
 * Prefixes of two letters stand everywhere in another case, which the matcher rules out at once.
 */
function spellingsOf(word: string, uses: readonly Use[]): readonly Spelling[] {
  if (uses.some(({ exact }) => exact === undefined)) return [{ word, uses, isInCase: false }];
  const bySpelling = Map.groupBy(uses, ({ exact }) => String(exact));
  return [...bySpelling].map(([spelling, own]) => ({
    word: spelling,
    uses: own.map((use) => ({ ...use, exact: undefined })),
    isInCase: true,
  }));
}

function usesOfWords(rules: readonly SearchRule[]): Map<string, Use[]> {
  const usesOf = new Map<string, Use[]>();
  for (const rule of rules) {
    const { anchors, keywords, words, anchorCase, boundary, wholeWords, window } = rule.detector;
    const kind = words.length > 0 ? 'match' : rule.regex.sticky ? 'anchor' : 'keyword';
    const written = [...anchors, ...[...keywords, ...words].flatMap(casesOf)];
    for (const word of new Set(written.map((it) => (anchorCase ? it : folded(it))))) {
      const wordLength = Buffer.byteLength(word);
      const isUnmistakable = anchorCase && wordLength >= unmistakableLength;
      kept(usesOf, folded(word), (): Use[] => []).push({
        rule,
        kind,
        wordLength,
        exact: anchorCase ? Buffer.from(word) : undefined,
        startsToken: boundary && !isUnmistakable,
        isWholeWord: wholeWords,
        isTelling: isTelling(word),
        mayBeginWord: wordLength < unmistakableLength && !(anchorCase && capitals.test(word)),
        isRun: run.test(word),
        window: windowOf(word, window),
        isOfMatch: rule.detector.besideKeyword !== undefined && window.after === 0,
      });
    }
  }
  return usesOf;
}

const run = /^(.)\1{7,}$/s;
const beyondAscii = /[\u0080-\uffff]/;
/**
 * Matches `AKIA` and other anchors in capitals. Few words begin so, and none of them goes on as a token does.
 */
const capitals = /^[A-Z]{4,}$/;
const tellingLengthMin = 4;

/**
 * Tells whether no ordinary text has an anchor. `ghp_` and `AKIA` are such anchors; `key`, `EAA`, `v2.` and
 * `----` are not.
 */
const isTelling = (anchor: string): boolean =>
  anchor.length >= tellingLengthMin && /[A-Za-z]/.test(anchor) && !/^[A-Z]?[a-z]+$/.test(anchor);

/**
 * Returns the spellings of a word in a sentence, at its beginning, and in capitals: `né le`, `Né le`, `NÉ
 * LE`. A word of ASCII needs only one.
 */
function casesOf(word: string): string[] {
  if (!beyondAscii.test(word)) return [word];
  const [lower, upper] = [word.toLowerCase(), word.toUpperCase()];
  const [first = ''] = lower;
  return [word, lower, first.toUpperCase() + lower.slice(first.length), upper];
}

/** Returns the window in bytes, doubled where the letters of the word have two or three bytes. */
function windowOf(word: string, window: Detector['window']): Detector['window'] {
  return isWide(word) ? { before: 2 * window.before, after: 2 * window.after } : window;
}

const isWide = (word: string): boolean => Buffer.byteLength(word) >= 1.5 * word.length;

/**
 * Returns the plan with some rules changed, or left out where the new rule is undefined. The rest is shared,
 * above all the tables of the matcher. The notes of searches are shared too, since a rule keeps its index.
 */
export function tunePlan(
  plan: SearchPlan,
  tuned: ReadonlyMap<SearchRule, SearchRule | undefined>,
  allowSha256: ReadonlySet<string>,
): SearchPlan {
  const tunedRules = (rules: readonly SearchRule[]): SearchRule[] =>
    rules.flatMap((rule) => (tuned.has(rule) ? (tuned.get(rule) ?? []) : rule));
  const tunedUse = (use: Use): Use | [] => {
    const [rule] = tunedRules([use.rule]);
    return rule ? { ...use, rule } : [];
  };
  const tunedUses = (uses: readonly Use[]): readonly Use[] =>
    uses.some(({ rule }) => tuned.has(rule)) ? uses.flatMap(tunedUse) : uses;
  return {
    ...plan,
    allowSha256,
    usesOfWord: plan.usesOfWord.map(tunedUses),
    singles: plan.singles.map((single) => ({ ...single, uses: tunedUses(single.uses) })),
    runUses: new Map([...plan.runUses].map(([pair, uses]) => [pair, tunedUses(uses)])),
    digitRules: tunedRules(plan.digitRules),
    nearRules: tunedRules(plan.nearRules),
  };
}

/**
 * Folds a word to lower case, as the matcher does: only in ASCII. Other letters have a case in their bytes.
 */
const folded = (word: string): string =>
  /[A-Z]/.test(word) ? word.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : word;

/** Creates a rule. `index` is its place among all rules, where a search notes things about it. */
export function toRule(detector: Detector, index: number): SearchRule {
  const place = detector.anchors.length > 0 ? 'y' : 'g';
  const indices = detector.group > 0 ? 'd' : '';
  const { anchors, class: dataClass, confidence, group, isGeneric, pattern, flags, lookahead } = detector;
  // At an anchor, the lookahead is known to match.
  const source = place === 'g' && lookahead ? `${lookahead}(?:${pattern})` : pattern;
  const mayBeCut =
    anchors.length > 0 && dataClass === 'SECRETS' && confidence !== 'low' && group === 0 && !isGeneric;
  return {
    detector,
    index,
    regex: new RegExp(source, flags + place + indices),
    mayBeCut,
    tokenBody: mayBeCut ? detector.tokenBody : undefined,
    lookaround: lookaroundOf(detector),
  };
}

/**
 * How many bytes count beside those that the pattern looks at. They are escapes before an anchor, the end of
 * a keyword's word, or separators of digits.
 */
const besidePattern = 16;

function lookaroundOf({ near, bounds: { behindMax, reachMax } }: Detector): SearchRule['lookaround'] {
  if (near.length > 0) return { before: Number.POSITIVE_INFINITY, after: Number.POSITIVE_INFINITY };
  return { before: behindMax + besidePattern, after: reachMax + besidePattern };
}
