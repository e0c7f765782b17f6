import { type ByteSet, type Node, PatternError, parsePattern } from './pattern-syntax.ts';

/*
 * Proves of a detector's pattern that one attempt at one position costs a bounded number of steps, whatever the text. Since the
 * engine tries a pattern a number of times that grows with the text's length and no faster, the whole is then linear.
 */

const repeatMax = 4096;
/** Ways in which a pattern may divide one text among its parts, hence how often it may step back. */
const waysMax = 8192;

export interface PatternBounds {
  /** Bytes that a match can have at most, with what it looks ahead to. */
  readonly reachMax: number;
  /** Bytes before its start that a match may look at. */
  readonly behindMax: number;
  /** No match is without a decimal digit, in it or in what it looks ahead to. */
  readonly needsDigit: boolean;
}

/**
 * Throws PatternError unless every quantifier is bounded by 4096, no repeated group can match one text in several ways without
 * a separator between its rounds, and neighbouring quantifiers over overlapping sets multiply to no more than 8,192 ways.
 */
export function assertLinear(pattern: string, flags = ''): PatternBounds {
  const root = parsePattern(pattern, flags.includes('i'));
  assertRepeats(root);
  const ways = waysOf(root, noBytes);
  if (ways > waysMax)
    throw new PatternError(`the pattern can step back in ${ways} ways; at most ${waysMax} are allowed`);
  return { reachMax: reachOf(root), behindMax: behindOf(root), needsDigit: needsDigit(root) };
}

const noBytes: ByteSet = new Uint8Array(256);
const allBytes: ByteSet = new Uint8Array(256).fill(1);

function assertRepeats(node: Node): void {
  if (node.kind === 'repeat') {
    if (node.max > repeatMax) throw new PatternError(`a quantifier is unbounded or above ${repeatMax}`);
    if (node.max > 1 && hasChoices(node.item) && !hasSeparator(node.item)) {
      throw new PatternError(
        'a repeated group can match one text in several ways and has nothing that separates its rounds',
      );
    }
  }
  for (const child of childrenOf(node)) assertRepeats(child);
}

function childrenOf(node: Node): readonly Node[] {
  if (node.kind === 'sequence') return node.items;
  if (node.kind === 'choice') return node.options;
  if (node.kind === 'repeat') return [node.item];
  return node.kind === 'look' ? [node.body] : [];
}

/** A quantifier of variable length, or options of which two can match one text. */
function hasChoices(node: Node): boolean {
  if (node.kind === 'repeat' && node.min !== node.max) return true;
  return (node.kind === 'choice' && !areExclusive(node.options)) || childrenOf(node).some(hasChoices);
}

/** No text begins with matches of two of the options, because the bytes that each must begin with differ somewhere. */
function areExclusive(options: readonly Node[]): boolean {
  const prefixes = options.map(fixedPrefix);
  const differ = (a: readonly ByteSet[], b: readonly ByteSet[]): boolean =>
    a.some((set, at) => b[at] !== undefined && !overlap(set, b[at]));
  return prefixes.every((prefix, index) => prefixes.slice(0, index).every((other) => differ(prefix, other)));
}

/** The sets of the bytes with which every match of the node begins, as far as they stand at fixed places. */
function fixedPrefix(node: Node): readonly ByteSet[] {
  if (node.kind === 'set') return [node.has];
  if (node.kind !== 'sequence') return [];
  const prefix: ByteSet[] = [];
  for (const item of node.items) {
    if (item.kind !== 'set')
      return [
        ...prefix,
        ...(item.kind === 'repeat' && item.min > 0 ? fixedPrefix(item.item).slice(0, 1) : []),
      ];
    prefix.push(item.has);
  }
  return prefix;
}

/** In every round there is one byte that no other part of the group can be. */
function hasSeparator(node: Node): boolean {
  if (node.kind !== 'sequence') return false;
  return node.items.some(
    (item) =>
      item.kind === 'set' &&
      node.items.every((other) => other === item || !overlap(item.has, bytesOf(other))),
  );
}

/** All bytes that any part of the node may match. */
function bytesOf(node: Node): ByteSet {
  return node.kind === 'set' ? node.has : childrenOf(node).map(bytesOf).reduce(union, noBytes);
}

/** How many ways there are to match one text, `next` being what may stand behind the node. */
function waysOf(node: Node, next: ByteSet): number {
  switch (node.kind) {
    case 'set':
    case 'edge':
      return 1;
    case 'look':
      return waysOf(node.body, noBytes);
    case 'choice': {
      const ways = node.options.map((option) => waysOf(option, next));
      return areExclusive(node.options) ? Math.max(...ways) : ways.reduce((sum, count) => sum + count, 0);
    }
    case 'repeat': {
      const again = node.max > 1 ? union(firstOf(node.item), next) : next;
      const width = overlap(firstOf(node.item), next) ? node.max - node.min + 1 : 1;
      return width * waysOf(node.item, again);
    }
    case 'sequence': {
      let ways = 1;
      let follow = next;
      for (const item of node.items.toReversed()) {
        ways *= waysOf(item, follow);
        follow = isOptional(item) ? union(firstOf(item), follow) : firstOf(item);
      }
      return ways;
    }
  }
}

/** Bytes with which the node may begin. What only looks may be followed by anything. */
function firstOf(node: Node): ByteSet {
  switch (node.kind) {
    case 'set':
      return node.has;
    case 'edge':
    case 'look':
      return allBytes;
    case 'repeat':
      return firstOf(node.item);
    case 'choice':
      return node.options.map(firstOf).reduce(union, noBytes);
    case 'sequence': {
      const upTo = node.items.findIndex((item) => !isOptional(item));
      return node.items
        .slice(0, upTo < 0 ? undefined : upTo + 1)
        .map(firstOf)
        .reduce(union, noBytes);
    }
  }
}

function isOptional(node: Node): boolean {
  if (node.kind === 'repeat') return node.min === 0 || isOptional(node.item);
  if (node.kind === 'sequence') return node.items.every(isOptional);
  if (node.kind === 'choice') return node.options.some(isOptional);
  return node.kind !== 'set';
}

/** Bytes that a match of the node can have at most, with what it looks ahead to. */
export function reachOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return 1;
    case 'edge':
      return 0;
    case 'look':
      return node.behind ? 0 : reachOf(node.body);
    case 'repeat':
      return node.max * reachOf(node.item);
    case 'choice':
      return Math.max(...node.options.map(reachOf));
    case 'sequence':
      return node.items.reduce((sum, item) => sum + reachOf(item), 0);
  }
}

function needsDigit(node: Node): boolean {
  if (node.kind === 'set')
    return node.has.every((isIn, byte) => isIn === 0 || (byte >= 0x30 && byte <= 0x39));
  if (node.kind === 'sequence') return node.items.some(needsDigit);
  if (node.kind === 'choice') return node.options.every(needsDigit);
  if (node.kind === 'look') return !node.behind && !node.negative && needsDigit(node.body);
  return node.kind === 'repeat' && node.min > 0 && needsDigit(node.item);
}

/** An edge (`\b`, `^`) looks one byte back. */
function behindOf(node: Node): number {
  if (node.kind === 'look' && node.behind) return reachOf(node.body) + 1;
  return Math.max(node.kind === 'edge' ? 1 : 0, ...childrenOf(node).map(behindOf));
}

const overlap = (a: ByteSet, b: ByteSet): boolean => a.some((isIn, byte) => isIn === 1 && b[byte] === 1);
const union = (a: ByteSet, b: ByteSet): ByteSet => a.map((isIn, byte) => isIn | (b[byte] as number));
