import { isAscii } from 'node:buffer';
import { anyFlag, textFlags } from '../kernel/outline.ts';
import type { TokenBody } from '../patterns/cut-token.ts';
import type { Detector } from '../patterns/detector.ts';
import { markerStart } from './markers.ts';
import { type Beside, beside, createMatcher, type Matcher } from './matcher.ts';
import { tokenRunLengthMin } from './token-runs.ts';

/* What a search needs to know beforehand: which words to look for, and what a hit of each means to which detector. */

/** A detector with its compiled pattern: sticky where it has anchors, else global. */
export interface SearchRule {
  readonly detector: Detector;
  readonly regex: RegExp;
  readonly index: number;
  /** Its matches begin with the anchor and are secrets, so one may have been cut in pieces. */
  readonly mayBeCut: boolean;
  readonly tokenBody: TokenBody | undefined;
  /** How many bytes before and behind a place decide whether it matches there; infinitely many where others' findings do. */
  readonly sight: { readonly before: number; readonly after: number };
}

/**
 * What a hit of a word means to one rule: a match may begin there, or be near, or the word is one. All that most hits are judged by stands
 * here: to follow a rule to its detector for each of them costs more than the judgement.
 */
export interface Use {
  readonly rule: SearchRule;
  readonly kind: 'anchor' | 'keyword' | 'match';
  readonly wordLength: number;
  /** How the word must be written; undefined where any case will do, and where the matcher compares it. */
  readonly exact: Buffer | undefined;
  /** An anchor that counts only where a token may begin. */
  readonly startsToken: boolean;
  /** One character, again and again: in a longer run of it only the first and the last place count, for zeros in base64 are such runs. */
  readonly isRun: boolean;
  /** An anchor that says without more behind it that a secret begins: no word or rule of ordinary text. */
  readonly isTelling: boolean;
  /** A keyword that counts only where it is a word of its own. */
  readonly isWholeWord: boolean;
  /** Around a keyword. */
  readonly window: Detector['window'];
  /** A keyword that any match has: a match begins no earlier than the bytes before the keyword allow. */
  readonly isOfMatch: boolean;
}

/** An anchor of so many bytes in its own case begins a secret even inside a word: a letter before it would hide the secret. */
export const unmistakableLength = 6;

/** What a search notes of each rule, at the rule's index. */
interface Room {
  /** The end of what it has matched, and how many anchors before that end may still be tried. */
  readonly matchedTo: Int32Array;
  readonly retriesLeft: Int32Array;
  /** Its window that was not searched yet; it ends below 0 where there is none. */
  readonly windowFrom: Int32Array;
  readonly windowTo: Int32Array;
}

/** A word of one byte. */
interface Single {
  readonly byte: number;
  readonly uses: readonly Use[];
  /** What the outline of a text has where this byte may stand in it. */
  readonly flag: number;
}

/** Made once for a set of detectors. */
export interface SearchPlan {
  readonly matcher: Matcher;
  readonly usesOfWord: readonly (readonly Use[])[];
  /** SHA-256 of texts that are no findings. */
  readonly allowSha256: ReadonlySet<string>;
  /** Words of one byte; the matcher does not take them, and nothing is faster than `indexOf` for them. */
  readonly singles: readonly Single[];
  /** What is looked for where a long run of letters and digits begins, by its two bytes, the first one lower. */
  readonly runUses: ReadonlyMap<number, readonly Use[]>;
  readonly digitRules: readonly SearchRule[];
  /** Those that are searched around what others have found. */
  readonly nearRules: readonly SearchRule[];
  /** Of all detectors, also of those that are not used here: what markers of redaction may name. */
  readonly ids: ReadonlySet<string>;
  /** The word with which the markers of redaction begin. */
  readonly markerWord: number;
  /** For `Search`, of which only one is under way at a time. */
  readonly room: Room;
}

/** Plans the search for these rules, in the order of their places. */
export function planSearch(
  rules: readonly SearchRule[],
  { allowSha256, ids }: Pick<SearchPlan, 'allowSha256' | 'ids'>,
  keptAs?: string,
): SearchPlan {
  const usesOf = usesOfWords(rules.filter((rule) => !beginsRun(rule)));
  const search = wordSearchOf(usesOf, [folded(markerStart)], keptAs);
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
    room: {
      matchedTo: new Int32Array(size),
      retriesLeft: new Int32Array(size),
      windowFrom: new Int32Array(size),
      windowTo: new Int32Array(size),
    },
  };
}

/** A rule whose anchors have two bytes and begin a long run of letters and digits: there it is looked for, and not everywhere. */
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

/** Looks for the words of more than one byte, and for further ones. */
function wordSearchOf(
  usesOf: ReadonlyMap<string, readonly Use[]>,
  further: readonly string[],
  keptAs: string | undefined,
): Pick<SearchPlan, 'matcher' | 'usesOfWord'> & { readonly words: readonly string[] } {
  const found = [...usesOf].flatMap(([word, uses]) =>
    Buffer.byteLength(word) > 1 ? spellingsOf(word, uses) : [],
  );
  for (const word of further) if (!usesOf.has(word)) found.push({ word, uses: [], isInCase: false });
  const words = found.map(({ word }) => word);
  const inCase = new Set(found.filter(({ isInCase }) => isInCase).map(({ word }) => word));
  const needs = new Map(found.map(({ word, uses }) => [word, neededBeside(uses)] as const));
  return {
    words,
    matcher: createMatcher(words, { inCase, needs, keptAs }),
    usesOfWord: found.map(({ uses }) => uses),
  };
}

/** What all who look for the word need beside it; a marker, which nobody looks for, needs nothing. */
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
 * The word as it is to be looked for. Where all who look for it want it in their own case, each spelling is a word of its own: prefixes
 * of two letters stand everywhere in another case, and the matcher says so at once.
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
      const bytes = Buffer.from(word);
      const uses = usesOf.get(folded(word)) ?? [];
      const isUnmistakable = anchorCase && bytes.length >= unmistakableLength;
      uses.push({
        ...{ rule, kind, wordLength: bytes.length, exact: anchorCase ? bytes : undefined },
        ...{ startsToken: boundary && !isUnmistakable, isWholeWord: wholeWords, isTelling: isTelling(word) },
        isRun: run.test(word),
        window: windowOf(word, window),
        isOfMatch: rule.detector.besideKeyword !== undefined && window.after === 0,
      });
      usesOf.set(folded(word), uses);
    }
  }
  return usesOf;
}

const run = /^(.)\1{7,}$/s;
const tellingLengthMin = 4;

/** `ghp_` and `AKIA` tell, and `key`, `EAA`, `v2.` and `----` do not. */
const isTelling = (anchor: string): boolean =>
  anchor.length >= tellingLengthMin && /[A-Za-z]/.test(anchor) && !/^[A-Z]?[a-z]+$/.test(anchor);

/** As a word is written in a sentence, at its beginning, and in capitals: `né le`, `Né le`, `NÉ LE`. ASCII letters have no case here. */
function casesOf(word: string): string[] {
  if (isAscii(Buffer.from(word))) return [word];
  const [lower, upper] = [word.toLowerCase(), word.toUpperCase()];
  const [first = ''] = lower;
  return [word, lower, first.toUpperCase() + lower.slice(first.length), upper];
}

/** Windows are counted in bytes; where letters have two or three of them, it would be half as many letters. */
function windowOf(word: string, window: Detector['window']): Detector['window'] {
  return isWide(word) ? { before: 2 * window.before, after: 2 * window.after } : window;
}

const isWide = (word: string): boolean => Buffer.byteLength(word) >= 1.5 * word.length;

/**
 * The plan with some of its rules changed, or left out where there is nothing instead. Whatever stays as it is is shared, above all the
 * tables of the matcher; and so is the room for searches, since one rule keeps its place.
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

/** The matcher folds ASCII alone; other letters have a case in their bytes. */
const folded = (word: string): string => word.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** `index` is the rule's place among all: what a search notes of it stands there. */
export function toRule(detector: Detector, index: number): SearchRule {
  const place = detector.anchors.length > 0 ? 'y' : 'g';
  const indices = detector.group > 0 ? 'd' : '';
  const { anchors, class: dataClass, confidence, group, isGeneric, pattern, flags, opening } = detector;
  // At an anchor it would be asked once more what is known.
  const source = place === 'g' && opening ? `${opening}(?:${pattern})` : pattern;
  const mayBeCut =
    anchors.length > 0 && dataClass === 'SECRETS' && confidence !== 'low' && group === 0 && !isGeneric;
  return {
    detector,
    index,
    regex: new RegExp(source, flags + place + indices),
    mayBeCut,
    tokenBody: mayBeCut ? detector.tokenBody : undefined,
    sight: sightOf(detector),
  };
}

/** Beside what the pattern looks at: escapes before an anchor, the end of a keyword's word, separators of digits. */
const besidePattern = 16;

function sightOf({ near, bounds: { behindMax, reachMax } }: Detector): SearchRule['sight'] {
  if (near.length > 0) return { before: Number.POSITIVE_INFINITY, after: Number.POSITIVE_INFINITY };
  return { before: behindMax + besidePattern, after: reachMax + besidePattern };
}
