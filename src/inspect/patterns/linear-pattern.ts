import { allBytes, type ByteSet, noBytes, overlap, union } from './byte-set.ts';
import { edgeBytesOf } from './first-bytes.ts';
import { childrenOf, type Node, PatternError } from './pattern-syntax.ts';

/*
 * Proves that one attempt of a pattern at one position takes a bounded number of steps, whatever the text.
 * The engine tries a pattern a number of times that grows only with the length of the text, so the whole is
 * linear.
 */

const repeatMax = 4096;
/** Bound on the ways in which a pattern may divide one text among its parts, and so on its backtracking. */
const waysMax = 8192;

/**
 * Throws PatternError unless three conditions hold. Every quantifier is bounded by 4096. No repeated group
 * can match one text in several ways without something that separates its rounds. Neighbouring quantifiers over
 * overlapping sets multiply to at most 8,192 ways.
 */
export function assertLinear(pattern: Node): void {
  assertRepeats(pattern);
  const ways = waysOf(pattern, noBytes);
  if (ways > waysMax)
    throw new PatternError(`the pattern can step back in ${ways} ways; at most ${waysMax} are allowed`);
}

function assertRepeats(node: Node): void {
  if (node.kind === 'repeat') {
    if (node.max > repeatMax) throw new PatternError(`a quantifier is unbounded or above ${repeatMax}`);
    if (node.max > 1 && hasChoices(node.item) && !hasSeparator(node.item) && !alternates(node.item)) {
      throw new PatternError(
        'a repeated group can match one text in several ways and has nothing that separates its rounds',
      );
    }
  }
  for (const child of childrenOf(node)) assertRepeats(child);
}

/** Tells whether a node has a quantifier of variable length, or options of which two can match one text. */
function hasChoices(node: Node): boolean {
  if (node.kind === 'repeat' && node.min !== node.max) return true;
  return (node.kind === 'choice' && !areExclusive(node.options)) || childrenOf(node).some(hasChoices);
}

/** Tells whether no text can begin with two of the options, because the bytes of their beginnings differ. */
function areExclusive(options: readonly Node[]): boolean {
  const prefixes = options.map(fixedPrefix);
  const differ = (a: readonly ByteSet[], b: readonly ByteSet[]): boolean =>
    a.some((set, at) => b[at] !== undefined && !overlap(set, b[at]));
  return prefixes.every((prefix, index) => prefixes.slice(0, index).every((other) => differ(prefix, other)));
}

/** Returns the sets of the bytes with which every match begins, as far as they stand at fixed places. */
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

/** Tells whether every round has one byte that no other part of the group can be. */
function hasSeparator(node: Node): boolean {
  if (node.kind !== 'sequence') return false;
  return node.items.some(
    (item) =>
      item.kind === 'set' &&
      node.items.every((other) => other === item || !overlap(item.has, bytesOf(other))),
  );
}

/**
 * Tells whether the group is a row of runs, none of which can have a byte of the next one, nor the last of the
 * first. So the text itself says where each run ends.
 */
function alternates(node: Node): boolean {
  if (node.kind !== 'sequence' || node.items.length < 2) return false;
  return node.items.every((item, at) => {
    const next = node.items[(at + 1) % node.items.length] as Node;
    return isRun(item) && !overlap(bytesOf(item), bytesOf(next));
  });
}

const isRun = (node: Node): boolean =>
  node.kind === 'set' || (node.kind === 'repeat' && node.min > 0 && node.item.kind === 'set');

/** Returns all bytes that any part of the node may match. */
function bytesOf(node: Node): ByteSet {
  return node.kind === 'set' ? node.has : childrenOf(node).map(bytesOf).reduce(union, noBytes);
}

/**
 * Returns in how many ways the node can match one text; `next` holds the bytes that may stand behind the
 * node.
 */
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

/** Returns the bytes with which the node may begin. Anything may follow a lookaround. */
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

const isOptional = (node: Node): boolean => edgeBytesOf(node).isOptional;
