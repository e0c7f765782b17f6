import { prepared } from '../../util/prepared.ts';
import { isLetter } from '../kernel/bytes.ts';
import { createMatcher } from '../match/matcher.ts';
import type { Region } from './phrases.ts';
import { spellings } from './spellings.ts';

/*
 * Finds out quickly that most texts hold no order to an agent. Words such as "system" or "before" stand in
 * every text. So whole phrases are looked for, on one line or broken into two. A closer look is taken only
 * around such places. For 64 KB of English this takes 0.2 ms, the closer look at all of it 1.9 ms.
 */

export interface Spotter {
  /** Returns the bytes within `reach` of the phrases, in order; overlapping ones are merged. */
  around(bytes: Buffer, reach: number, isStopped: () => boolean): Region[];
}

/**
 * Builds a finder of places where one of the phrases may stand. The last word of one that ends in `*` may go
 * on. `isShipped` says that the phrases come with the program, see `prepared`.
 */
export function createSpotter(phrases: readonly string[], isShipped = false): Spotter {
  const make = (): Spellings => spellingsOf(phrases);
  const { words, lengths } = isShipped ? prepared('spellings', JSON.stringify(phrases), make) : make();
  const matcher = createMatcher(words, { keptAs: isShipped ? 'spots' : undefined });
  return {
    around(bytes, reach, isStopped) {
      const regions: Region[] = [];
      const onHit = (word: number, at: number): void => {
        const length = lengths[word] as number;
        if (length === openEnd || !goesOn(bytes, at + length))
          join(regions, Math.max(0, at - reach), at + reach);
      };
      matcher.scan(bytes, onHit, isStopped);
      return regions;
    },
  };
}

const openEnd = -1;

/** The texts to look for, and the length of each; `openEnd` where it may go on. */
interface Spellings {
  readonly words: readonly string[];
  readonly lengths: readonly number[];
}

function spellingsOf(phrases: readonly string[]): Spellings {
  const endOf = new Map<string, number>();
  for (const phrase of phrases) {
    const isOpen = phrase.endsWith('*');
    for (const text of brokenOnce(isOpen ? phrase.slice(0, -1) : phrase))
      for (const word of spellings(text)) endOf.set(word, isOpen ? openEnd : Buffer.byteLength(word));
  }
  return { words: [...endOf.keys()], lengths: [...endOf.values()] };
}

/** Tells whether a letter stands on both sides of a place: "answer as" is no part of "answer assistants". */
const goesOn = (bytes: Buffer, end: number): boolean => isLetter(bytes[end - 1]) && isLetter(bytes[end]);

/**
 * Returns the phrase on one line, and with each space as a line end. All come with both kinds of apostrophe.
 */
function brokenOnce(phrase: string): string[] {
  const words = phrase.split(' ');
  const broken = words
    .slice(1)
    .map((_, at) => `${words.slice(0, at + 1).join(' ')}\n${words.slice(at + 1).join(' ')}`);
  return [phrase, ...broken].flatMap((text) => [text, text.replaceAll("'", '\u2019')]);
}

/** Adds a region, merged with those that it overlaps. Regions come in order but for a few bytes. */
function join(regions: Region[], from: number, to: number): void {
  const last = regions.at(-1);
  if (!last || from > last.to) regions.push({ from, to });
  else regions[regions.length - 1] = { from: Math.min(last.from, from), to: Math.max(last.to, to) };
}
