import { type ByteSet, bytesMatching } from './byte-set.ts';
import type { Node } from './pattern-syntax.ts';

/*
 * How likely a pattern is met by accident in a picture, an archive or anything else that is as good as random and written in base64: three
 * letters and forty characters of a token stand in one of thirty pictures. Told from the pattern, so that nobody has to say it of each detector.
 */

const alphabet = bytesMatching(/[0-9A-Za-z+/_-]/);
/** Of those at most 64 are used at once. */
const alphabetBits = 6;
/** Lines of base64 have some 64 to 76 characters, so that a line end is about as frequent as a letter. */
const lineEnds = bytesMatching(/[\r\n]/);

/** At each place of such a text one match in two to the power of these bits begins; never more, mostly less. */
export function chanceBitsOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return bitsOf(node.has);
    case 'edge':
      return 0;
    case 'look':
      // What is looked for ahead is what follows; what is behind stands there besides.
      return node.behind && !node.negative ? chanceBitsOf(node.body) : 0;
    case 'repeat':
      return node.min === 0 ? 0 : node.min * chanceBitsOf(node.item);
    case 'choice':
      return -Math.log2(node.options.reduce((sum, option) => sum + 2 ** -chanceBitsOf(option), 0));
    case 'sequence':
      return node.items.reduce((sum, item) => sum + chanceBitsOf(item), 0);
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

/** Letters count in either case. */
const keywordBits = alphabetBits - 1;

/** What one of these words has to stand for, so many bytes around a match. */
export function keywordChanceBits(keywords: readonly string[], windowBytes: number): number {
  if (keywords.length === 0) return 0;
  const share = keywords.reduce((sum, { length }) => sum + 2 ** (-keywordBits * length), 0);
  return Math.max(0, -Math.log2(share * Math.max(1, windowBytes)));
}
