import { asShown } from './as-shown.ts';
import { type Evidence, Passages, passageBytes } from './evidence.ts';
import { findInvisible } from './invisible.ts';
import { findLeakingLinks } from './links.ts';
import type { Phrasebook } from './phrasebook.ts';
import { createPhraseFinder, type PhraseHit } from './phrases.ts';
import { type ConceptPlace, RuleTracker } from './rules.ts';
import { createSpotter } from './spots.ts';

export type { Evidence } from './evidence.ts';
export { injectionScoreMin } from './evidence.ts';

/** A judgement on whether a text is an instruction to the agent that reads it. */
export interface InjectionReading {
  /** The score, from 0 to 1. From `injectionScoreMin` on the text counts as an injection. */
  readonly score: number;
  /** The evidence that made it count; empty for a lower score. */
  readonly evidence: readonly Evidence[];
  /** Tells whether the text was read to its end; false where `isOver` ended the reading. */
  readonly complete: boolean;
}

export interface InjectionReader {
  /** Reads in time linear in the length of the text. `isOver` is called now and then. */
  read(bytes: Buffer, isOver: () => boolean): InjectionReading;
}

/** Kinds that articles quote. */
const quotable: ReadonlySet<string> = new Set([
  'override',
  'disclosure',
  'persona',
  'unbound',
  'impersonation',
]);
/** The number of bytes behind the words "prompt injection" in which a quotation is an example of one. */
const talkBytes = 400;
const quotedShare = 0.35;
const quotedTaskShare = 0.6;
const mentionedShare = 0.15;
/** Bound on the talk of attacks that is remembered. */
const talksMax = 8;
/** Matches what introduces an example: `phrases like '`, `a common pattern is: "`, and `' and '` between two. */
const mention =
  /(?:(?:phrases?|patterns?|strings?|payloads?|prompts?|inputs?|examples?)\b[^.!?\n"']{0,24}|\b(?:like|such as|e\.g\.|for example),?:?\s*|["'] (?:and|or) )["'\u201c\u2018\u00ab]$/i;
/**
 * Matches the end of a sentence: a full stop, an empty line, the next item of a list, table or log, or the end of
 * a comment.
 */
const sentenceEnd = /[.!?;]\s|[\u3002\uff01\uff1f\u0964]|\n\s*(?:[-+|#]|\d+[.)]|\n)|-->/;
const otherMeantShare = 0.4;
const codeShare = 0.55;
const unseenMax = 1000;
/** Matches a quotation that stands behind a word and a space, and is still open at the end. */
const quotationStart =
  /\p{L},? (?:"[^"\n]*|[\u201c\u201e][^\u201c\u201d\n]*|\u00ab[^\u00bb\n]*|\u2018[^\u2019\n]{0,40})$/u;
const quoteMark = /["\u201c\u201d\u201e\u00ab\u00bb]/g;
/** Matches the end of direct speech with the verb that says so, as in stories. */
const speechEnd =
  /^[^"\u201c\u201d\u00bb\n]{0,120}[,.!?]\\?["\u201d\u00bb],? (?:\p{L}+ ){0,3}(?:said|says|asked|whispered|replied|shouted|cried|muttered|answered|yelled|murmured|sagte|dit|dijo|disse)\b/u;
const speechBytes = 200;
/**
 * Matches what only patterns have: a group that may be left out or has choices, and classes of characters.
 */
const patternPart = /\)[?*+]|\w\|\w|\(\?:|\\[bswdSWD]\b|\.[*+{]/;
/**
 * The numbers of bytes before evidence in which its quotation begins, and around it in which its pattern
 * stands.
 */
const quotationBytes = 160;
const patternBytes = 12;
const backtick = 0x60;
const comma = 0x2c;
const attackTalk = 'attack-talk';
/** The prefix of concepts whose phrases hide the words in them, as talk of attacks does. */
const hidesWords = 'about-';

/** What a phrase means to the rules. */
interface Meaning {
  readonly places: readonly ConceptPlace[];
  readonly isTalk: boolean;
  /** The concepts of the phrase that cast doubt on rules. */
  readonly doubts: readonly string[];
  readonly hides: boolean;
}

/**
 * Builds a reader of a book's phrases and rules, for one `read` at a time. `isShipped` says that the book
 * comes with the program, see `prepared`.
 */
export function createInjectionReader(
  { concepts, common, rules }: Phrasebook,
  isShipped = false,
): InjectionReader {
  const conceptsOf = new Map<string, string[]>();
  for (const [concept, words] of concepts)
    for (const word of words)
      conceptsOf.set(word.toLowerCase(), [...(conceptsOf.get(word.toLowerCase()) ?? []), concept]);
  const meaningOf = meaningsBy(rules);
  const meanings = [...conceptsOf.values()].map(meaningOf);
  const words = [...conceptsOf.keys()];
  const finder = createPhraseFinder(words, isShipped);
  const commonWords = new Set([...common].map((word) => word.toLowerCase()));
  const spotter = createSpotter(
    words.filter((word) => !commonWords.has(word)),
    isShipped,
  );

  return {
    read(bytes, isOver) {
      const asWritten = readText(bytes, isOver);
      const shown = asWritten.complete ? asShown(bytes) : undefined;
      if (!shown) return asWritten;
      const seen = readText(shown.bytes, isOver);
      if (seen.score <= asWritten.score) return { ...asWritten, complete: seen.complete };
      const evidence = seen.evidence.map((it) => ({ ...it, ...shown.toSource(it.start, it.end) }));
      return { ...seen, evidence };
    },
  };

  function readText(bytes: Buffer, isOver: () => boolean): InjectionReading {
    const passages = new Passages();
    const unseen = unseenIn(bytes);
    let next = 0;
    const addUnseen = (before: number): void => {
      for (let it = unseen[next]; it && it.end <= before; it = unseen[++next]) passages.add(it);
    };
    const phrases = new PhraseReader(bytes, meanings, new RuleTracker(rules), (evidence) => {
      addUnseen(evidence.end);
      passages.add(evidence);
    });
    let complete = true;
    const isStopped = (): boolean => {
      complete = complete && !isOver();
      return !complete;
    };
    for (const passage of spotter.around(bytes, passageBytes, isStopped))
      if (complete) finder.scan(bytes, passage, (hit) => phrases.take(hit), isStopped);
    addUnseen(bytes.length);
    return { score: passages.score, evidence: passages.reported, complete };
  }
}

/** Creates each meaning once, because thousands of phrases share a hundred. */
function meaningsBy(rules: Phrasebook['rules']): (concepts: readonly string[]) => Meaning {
  const doubtful = new Set(rules.map((rule) => rule.doubt));
  const made = new Map<string, Meaning>();
  return (concepts) => {
    const key = concepts.join();
    const meaning = made.get(key) ?? {
      places: concepts.flatMap((concept) => placesOf(concept, rules)),
      isTalk: concepts.includes(attackTalk),
      doubts: concepts.filter((concept) => doubtful.has(concept)),
      hides: concepts.some((concept) => concept.startsWith(hidesWords)),
    };
    made.set(key, meaning);
    return meaning;
  };
}

/** Returns evidence other than phrases, in the order of the text, at most 1,000 pieces. */
function unseenIn(bytes: Buffer): Evidence[] {
  const found: Evidence[] = [];
  const note = (evidence: Evidence): void => {
    if (found.length < unseenMax) found.push(evidence);
  };
  findInvisible(bytes, note);
  findLeakingLinks(bytes, note);
  return found.sort((a, b) => a.end - b.end);
}

/**
 * Returns the places of a concept. The last step of a rule comes first, so that one word does not stand for
 * two of its concepts.
 */
function placesOf(concept: string, rules: Phrasebook['rules']): ConceptPlace[] {
  return rules.flatMap((rule, index) =>
    rule.concepts
      .map((name, step) => ({ name, place: { rule: index, step } }))
      .filter(({ name }) => name === concept)
      .map(({ place }) => place)
      .reverse(),
  );
}

/** Takes the phrases of one text in order. */
class PhraseReader {
  readonly #bytes: Buffer;
  readonly #meanings: readonly Meaning[];
  readonly #tracker: RuleTracker;
  readonly #note: (evidence: Evidence) => void;
  /** The last place of each concept of doubt. */
  readonly #doubtAt = new Map<string, number>();
  #hiddenTo = 0;
  /** The ends of the last talk of attacks, the newest first. */
  #talks: readonly number[] = [];

  constructor(
    bytes: Buffer,
    meanings: readonly Meaning[],
    tracker: RuleTracker,
    note: (evidence: Evidence) => void,
  ) {
    this.#bytes = bytes;
    this.#meanings = meanings;
    this.#tracker = tracker;
    this.#note = note;
  }

  take(hit: PhraseHit): void {
    const { places, isTalk, hides, doubts } = this.#meanings[hit.phrase] as Meaning;
    if (hides || isTalk) this.#hiddenTo = Math.max(this.#hiddenTo, hit.end);
    if (isTalk) this.#talks = [hit.end, ...this.#talks.slice(0, talksMax - 1)];
    if (hit.end <= this.#hiddenTo) return;
    for (const concept of doubts) this.#doubtAt.set(concept, hit.start);
    this.#tracker.take(hit, places, (evidence, { same_sentence: isBound, doubt }) => {
      if (isBound && this.#hasSentenceEnd(evidence)) return;
      const isDoubtful = doubt !== undefined && this.#maySayOther(evidence, doubt, isBound);
      const share = this.#shareOf(evidence) * (isDoubtful ? otherMeantShare : 1);
      this.#note(share === 1 ? evidence : { ...evidence, weight: evidence.weight * share });
    });
  }

  /**
   * Returns the share that evidence counts. An article about injections quotes them, and code shows them.
   * Pretending to quote gains little, because what an injection asks for counts for more.
   */
  #shareOf({ kind, start, end }: Evidence): number {
    const isQuotable = quotable.has(kind);
    if (isQuotable && (this.#bytes[start - 1] === backtick || this.#isPattern(start, end))) return codeShare;
    const isQuotation = isQuotable && (this.#isQuotation(start, end) || this.#isSpeech(end));
    // Evidence may span the talk that follows a quotation, so the talk before it counts.
    const talkedTo = this.#talks.find((it) => it <= start);
    const isTalkedOf = talkedTo !== undefined && start - talkedTo <= talkBytes;
    if (!isTalkedOf || !this.#isQuoted(talkedTo, isQuotation ? end : start))
      return isQuotation ? codeShare : 1;
    if (!isQuotable) return quotedTaskShare;
    return this.#isMentioned(start) ? mentionedShare : quotedShare;
  }

  /**
   * Tells whether evidence is a quotation. That begins in the evidence, or with it in the middle of a
   * sentence. A value of JSON is none, since it stands behind a colon.
   */
  #isQuotation(start: number, end: number): boolean {
    const before = this.#bytes.toString('utf8', Math.max(0, start - quotationBytes), start);
    if (quotationStart.test(before)) return true;
    const marks = this.#bytes.toString('utf8', start, end).match(quoteMark);
    return marks !== null && marks.length % 2 === 1;
  }

  #isSpeech(end: number): boolean {
    return speechEnd.test(this.#bytes.toString('utf8', end, end + speechBytes));
  }

  /** Tells whether evidence stands in the pattern of a filter, which has parts that no sentence has. */
  #isPattern(start: number, end: number): boolean {
    return patternPart.test(
      this.#bytes.toString('latin1', Math.max(0, start - patternBytes), end + patternBytes),
    );
  }

  /**
   * Tells whether evidence may mean something else. It may where it has another object in it, or a sentence
   * has a comma in it, behind which another clause begins.
   */
  #maySayOther({ start, end }: Evidence, doubt: string, isSentence: boolean): boolean {
    const doubtAt = this.#doubtAt.get(doubt) ?? Number.NEGATIVE_INFINITY;
    return doubtAt >= start || (isSentence && this.#bytes.subarray(start, end).includes(comma));
  }

  #hasSentenceEnd({ start, end }: Evidence): boolean {
    return sentenceEnd.test(this.#bytes.toString('utf8', start, end));
  }

  /** Tells whether words such as "phrases like" introduce the quotation that evidence begins. */
  #isMentioned(start: number): boolean {
    return mention.test(this.#bytes.toString('utf8', Math.max(0, start - quotationBytes), start));
  }

  #isQuoted(talkedTo: number, at: number): boolean {
    return /["'`\u201c\u201e\u00ab\u2018]|&quot;/.test(this.#bytes.toString('utf8', talkedTo, at));
  }
}
