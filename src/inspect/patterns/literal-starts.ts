import { type ByteSet, isSingle, withBothCases } from './byte-set.ts';
import { type Node, parsePattern } from './pattern-syntax.ts';

/*
 * Finds the literal texts with which the matches of a pattern begin, so that an author need not write them
 * down a second time as anchors.
 */

/** One of the beginnings. It is open where the next part of the pattern goes on behind it. */
interface Start {
  readonly text: string;
  readonly isOpen: boolean;
}

const startsMax = 64;
const lengthMax = 32;

const begun: readonly Start[] = [{ text: '', isOpen: true }];
const ended: readonly Start[] = [{ text: '', isOpen: false }];

/**
 * Returns texts of which every match begins with one, at most 64 of up to 32 characters. Returns none where
 * some match begins with no printable ASCII literal. Without regard to case they are in lower case.
 */
export function literalStartsOf(pattern: string, flags: string): readonly string[] {
  const isFolded = flags.includes('i');
  const texts = startsOf(parsePattern(pattern, flags), isFolded).map(({ text }) => text);
  return texts.length > startsMax || texts.includes('') ? [] : [...new Set(texts)];
}

function startsOf(node: Node, isFolded: boolean): readonly Start[] {
  switch (node.kind) {
    case 'set': {
      const text = literalOf(node.has, isFolded);
      return text === undefined ? ended : [{ text, isOpen: true }];
    }
    case 'edge':
    case 'look':
      return begun;
    case 'repeat':
      if (node.min === 0) return ended;
      return node.max === 1 ? startsOf(node.item, isFolded) : startsOf(node.item, isFolded).map(closed);
    case 'choice':
      return bounded(node.options.flatMap((option) => startsOf(option, isFolded)));
    case 'sequence': {
      let starts = begun;
      for (const item of node.items) {
        if (starts.every(({ isOpen }) => !isOpen)) break;
        const next = startsOf(item, isFolded);
        starts = bounded(starts.flatMap((start) => (start.isOpen ? next.map(behind(start)) : start)));
      }
      return starts;
    }
  }
}

const closed = ({ text }: Start): Start => ({ text, isOpen: false });

const behind =
  (start: Start) =>
  ({ text, isOpen }: Start): Start => ({
    text: (start.text + text).slice(0, lengthMax),
    isOpen: isOpen && start.text.length + text.length < lengthMax,
  });

/** Returns the starts; a single empty one, which makes the whole useless, where there are too many. */
const bounded = (starts: readonly Start[]): readonly Start[] => (starts.length > startsMax ? ended : starts);

/**
 * Returns the character that a set stands for, a letter in lower case where both cases are meant; undefined
 * where it stands for more.
 */
function literalOf(has: ByteSet, isFolded: boolean): string | undefined {
  const lowest = has & -has;
  if (lowest === 0n) return undefined;
  const character = String.fromCharCode(lowest.toString(2).length - 1);
  if (!/[ -~]/.test(character)) return undefined;
  if (isSingle(has)) return character;
  return isFolded && withBothCases(lowest) === has ? character.toLowerCase() : undefined;
}
