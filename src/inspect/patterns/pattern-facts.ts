import {
  type Alphabet,
  alphabetOf,
  bitsOf,
  bytesOf,
  type Core,
  coreOf,
  type FirstBytes,
  headOf,
  lengthMinOf,
  neededBytes,
} from './alphabet.ts';
import { bytesMatching, isSubset, overlap, singleByte } from './byte-set.ts';
import { firstByteLookahead, neighboursOf } from './first-bytes.ts';
import { assertLinear } from './linear-pattern.ts';
import { bodyOf, type TokenBody } from './partial-secret.ts';
import { childrenOf, type Node, parsePattern, reachOf } from './pattern-syntax.ts';
import { randomMatchBitsOf } from './random-match-bits.ts';
import { type FirstRun, firstRunOf } from './run-ends.ts';

/*
 * What the engine needs to know of a pattern. A pattern is parsed once, when its detector is made. Only these
 * facts are kept, because the tree is larger than the rest of a detector.
 */

export interface PatternFacts {
  readonly bounds: PatternBounds;
  readonly alphabet: Alphabet;
  readonly core: Core;
  readonly head: FirstBytes;
  readonly firstRun: FirstRun | undefined;
  /**
   * The bytes that may stand before and behind the keyword, 32 of the 256 in each number. Undefined unless
   * the keyword is one byte that every match contains.
   */
  readonly besideKeyword: { readonly before: Int32Array; readonly behind: Int32Array } | undefined;
  /**
   * Bound on the bytes from the start of a match to the end of its first digit; undefined where it may have
   * no digit.
   */
  readonly digitLead: number | undefined;
  /** The number of letters and digits with which any match begins. */
  readonly runLength: number;
  /** Tells whether any match has a long run of token characters. */
  readonly hasRun: boolean;
  /** The form of its tokens behind their prefix; undefined where they have no such form. */
  readonly tokenBody: TokenBody | undefined;
  /** The source of a lookahead that rules out places quickly; see `firstByteLookahead`. */
  readonly lookahead: string;
  /** How rare a match is in random bytes, in bits; see `randomMatchBitsOf`. */
  readonly randomMatchBits: number;
}

export interface PatternBounds {
  /** Bound on the bytes of a match, including its lookahead. */
  readonly reachMax: number;
  /** Bound on the bytes before its start that a match may look at. */
  readonly behindMax: number;
  /** Bound on the bytes behind its end that a match may look at. */
  readonly aheadMax: number;
}

/**
 * Computes the facts of a pattern. Throws PatternError where the pattern is not supported or could take long;
 * see `assertLinear`.
 */
export function analysePattern(pattern: string, flags = '', keywords: readonly string[] = []): PatternFacts {
  const root = parsePattern(pattern, flags);
  assertLinear(root);
  const behindMax = behindOf(root);
  return {
    bounds: { reachMax: reachOf(root), behindMax, aheadMax: aheadOf(root) },
    alphabet: alphabetOf(root),
    core: coreOf(root),
    head: headOf(root),
    firstRun: behindMax === 0 ? firstRunOf(root) : undefined,
    besideKeyword: besideKeyword(root, keywords),
    digitLead: leadTo(root, isDigit),
    runLength: runLengthOf(root),
    hasRun: leadTo(root, isRun) !== undefined,
    tokenBody: bodyOf(root),
    lookahead: firstByteLookahead(root),
    randomMatchBits: randomMatchBitsOf(root),
  };
}

function besideKeyword(root: Node, keywords: readonly string[]): PatternFacts['besideKeyword'] {
  const [keyword = ''] = keywords;
  if (keywords.length !== 1 || Buffer.byteLength(keyword) !== 1) return undefined;
  const byte = singleByte(keyword.charCodeAt(0));
  if (!overlap(neededBytes(root), byte)) return undefined;
  const { before, behind } = neighboursOf(byte, root);
  return { before: bitsOf(before), behind: bitsOf(behind) };
}

/** Returns how many bytes before a match are looked at. An edge (`\b`, `^`) looks at one. */
function behindOf(node: Node): number {
  if (node.kind === 'look' && node.behind) return reachOf(node.body) + 1;
  return Math.max(node.kind === 'edge' ? 1 : 0, ...childrenOf(node).map(behindOf));
}

/** Returns how many bytes behind a match are looked at. An edge looks at one. */
function aheadOf(node: Node): number {
  if (node.kind === 'edge') return 1;
  const own = node.kind === 'look' && !node.behind ? reachOf(node.body) : 0;
  return Math.max(own, ...childrenOf(node).map(aheadOf));
}

/**
 * Returns the most bytes from the start of a match to the end of the first part of this kind. For a run it
 * returns those to its start. Returns undefined where a match may have no such part.
 */
function leadTo(node: Node, isKind: (node: Node) => boolean): number | undefined {
  if (isKind(node)) return node.kind === 'repeat' ? 0 : 1;
  switch (node.kind) {
    case 'set':
    case 'edge':
      return undefined;
    case 'look':
      return node.behind || node.negative ? undefined : leadTo(node.body, isKind);
    case 'repeat':
      return node.min > 0 ? leadTo(node.item, isKind) : undefined;
    case 'choice': {
      const leads = node.options.map((option) => leadTo(option, isKind));
      return leads.every((lead) => lead !== undefined) ? Math.max(...leads) : undefined;
    }
    case 'sequence': {
      let passed = 0;
      for (const item of node.items) {
        const lead = leadTo(item, isKind);
        if (lead !== undefined) return passed + lead;
        passed += reachOf(item);
      }
      return undefined;
    }
  }
}

/** Returns the least number of letters and digits at the start of any match. */
function runLengthOf(node: Node): number {
  if (isSubset(bytesOf(node), alphanumerics)) return lengthMinOf(node);
  if (node.kind === 'choice') return Math.min(...node.options.map(runLengthOf));
  if (node.kind !== 'sequence') return 0;
  const end = node.items.findIndex((item) => !isSubset(bytesOf(item), alphanumerics));
  const whole = node.items.slice(0, end).reduce((sum, item) => sum + lengthMinOf(item), 0);
  return whole + runLengthOf(node.items[end] as Node);
}

const alphanumerics = bytesMatching(/[0-9A-Za-z]/);
const digits = bytesMatching(/\d/);
const isDigit = (node: Node): boolean => node.kind === 'set' && isSubset(node.has, digits);

const runLengthMin = 14;
const tokenBytes = bytesMatching(/[\w+/=.~:-]/);
const isRun = (node: Node): boolean =>
  node.kind === 'repeat' &&
  node.min >= runLengthMin &&
  node.item.kind === 'set' &&
  isSubset(node.item.has, tokenBytes);
