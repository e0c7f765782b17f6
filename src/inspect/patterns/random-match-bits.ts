import { type ByteSet, bytesMatching } from './byte-set.ts';
import type { Node } from './pattern-syntax.ts';

/*
 * Estimates how likely a pattern matches by accident in random bytes in base64, such as a picture or an
 * archive. Three letters and forty token characters stand in one of thirty pictures. The estimate is computed
 * from the pattern, so that no detector has to state it.
 */

const alphabet = bytesMatching(/[0-9A-Za-z+/_-]/);
/** The bits of a character, since at most 64 of the alphabet are used at once. */
const alphabetBits = 6;
/**
 * The bytes of line ends. Lines of base64 have 64 to 76 characters, so that a line end is about as frequent
 * as a letter.
 */
const lineEnds = bytesMatching(/[\r\n]/);

/**
 * Returns the bits of a match. At a place of random text, at most one match in two to the power of these bits
 * begins.
 */
export function randomMatchBitsOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return bitsOf(node.has);
    case 'edge':
      return 0;
    case 'look':
      // A lookahead overlaps with what follows, so only a lookbehind adds bits.
      return node.behind && !node.negative ? randomMatchBitsOf(node.body) : 0;
    case 'repeat':
      return node.min === 0 ? 0 : node.min * randomMatchBitsOf(node.item);
    case 'choice':
      return -Math.log2(node.options.reduce((sum, option) => sum + 2 ** -randomMatchBitsOf(option), 0));
    case 'sequence':
      return node.items.reduce((sum, item) => sum + randomMatchBitsOf(item), 0);
  }
}

function bitsOf(has: ByteSet): number {
  const count = countOf(has & alphabet) + ((has & lineEnds) === 0n ? 0 : 1);
  return Math.max(0, alphabetBits - Math.log2(count));
}

function countOf(set: ByteSet): number {
  let count = 0;
  for (let rest = set; rest > 0n; rest &= rest - 1n) count += 1;
  return count;
}

/** The bits of a letter of a keyword, which counts in either case. */
const keywordBits = alphabetBits - 1;

/** Returns the bits that one of these words adds. The word must stand within so many bytes of a match. */
export function keywordMatchBits(keywords: readonly string[], windowBytes: number): number {
  if (keywords.length === 0) return 0;
  const share = keywords.reduce((sum, { length }) => sum + 2 ** (-keywordBits * length), 0);
  return Math.max(0, -Math.log2(share * Math.max(1, windowBytes)));
}
