import { allBytes, type ByteSet, noBytes, overlap, singleByte, union } from './byte-set.ts';
import type { Node } from './pattern-syntax.ts';

/*
 * Finds the first bytes of matches. Patterns begin with a lookbehind, and looking back at every position of a
 * window costs more than all the rest. A lookahead for the first byte, put before the pattern, skips other
 * text at several times the speed.
 */

/**
 * The first or last bytes of a match. `isOptional` tells that the match may be empty so far, so that what
 * follows counts too.
 */
interface EdgeBytes {
  readonly bytes: ByteSet;
  readonly isOptional: boolean;
}

const nothing: EdgeBytes = { bytes: noBytes, isOptional: true };

/** Returns the source of a lookahead for the first byte of a match; empty where it would rule out nothing. */
export function firstByteLookahead(pattern: Node): string {
  if (!looksAroundFirst(pattern)) return '';
  const { bytes, isOptional } = edgeBytesOf(pattern);
  return isOptional || bytes === allBytes ? '' : `(?=[${membersOf(bytes)}])`;
}

/**
 * Tells whether a pattern begins with a lookaround. For others the regular expression engine finds the first
 * byte by itself.
 */
const looksAroundFirst = (node: Node): boolean =>
  node.kind === 'sequence'
    ? node.items[0] !== undefined && looksAroundFirst(node.items[0])
    : node.kind === 'look' || (node.kind === 'choice' && node.options.some(looksAroundFirst));

/** Returns what a match of the node can begin with, or what it can end with. */
export function edgeBytesOf(node: Node, isFromEnd = false): EdgeBytes {
  switch (node.kind) {
    case 'set':
      return { bytes: node.has, isOptional: false };
    case 'edge':
    case 'look':
      return nothing;
    case 'repeat': {
      const { bytes, isOptional } = edgeBytesOf(node.item, isFromEnd);
      return { bytes, isOptional: isOptional || node.min === 0 };
    }
    case 'choice':
      return node.options
        .map((option) => edgeBytesOf(option, isFromEnd))
        .reduce((all, one) => ({
          bytes: union(all.bytes, one.bytes),
          isOptional: all.isOptional || one.isOptional,
        }));
    case 'sequence': {
      let bytes = noBytes;
      for (const item of isFromEnd ? node.items.toReversed() : node.items) {
        const edge = edgeBytesOf(item, isFromEnd);
        bytes = union(bytes, edge.bytes);
        if (!edge.isOptional) return { bytes, isOptional: false };
      }
      return { bytes, isOptional: true };
    }
  }
}

/** The bytes that may stand directly before and behind a byte of a match. */
export interface Neighbours {
  readonly before: ByteSet;
  readonly behind: ByteSet;
}

/**
 * Returns the neighbours of a byte where the pattern has this byte and no other. `around` holds the
 * neighbours of the node.
 */
export function neighboursOf(byte: ByteSet, node: Node, around = anyNeighbours): Neighbours {
  switch (node.kind) {
    case 'set':
      return node.has === byte ? around : noNeighbours;
    case 'edge':
    case 'look':
      return noNeighbours;
    case 'repeat':
      return neighboursOf(byte, node.item, node.max > 1 ? anyNeighbours : around);
    case 'choice':
      return node.options.map((option) => neighboursOf(byte, option, around)).reduce(either);
    case 'sequence':
      return node.items
        .map((item, at) => {
          const before = edgeBytesOf({ kind: 'sequence', items: node.items.slice(0, at) }, true);
          const behind = edgeBytesOf({ kind: 'sequence', items: node.items.slice(at + 1) });
          return neighboursOf(byte, item, {
            before: before.isOptional ? union(before.bytes, around.before) : before.bytes,
            behind: behind.isOptional ? union(behind.bytes, around.behind) : behind.bytes,
          });
        })
        .reduce(either, noNeighbours);
  }
}

const anyNeighbours: Neighbours = { before: allBytes, behind: allBytes };
const noNeighbours: Neighbours = { before: noBytes, behind: noBytes };

const either = (one: Neighbours, other: Neighbours): Neighbours => ({
  before: union(one.before, other.before),
  behind: union(one.behind, other.behind),
});

/** Returns the bytes as members of a character class: `\x30-\x39\x41`. */
function membersOf(bytes: ByteSet): string {
  const escaped = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;
  const members: string[] = [];
  for (let low = 0; low < 256; low++) {
    if (!overlap(bytes, singleByte(low))) continue;
    let high = low;
    while (high < 255 && overlap(bytes, singleByte(high + 1))) high++;
    members.push(high === low ? escaped(low) : `${escaped(low)}-${escaped(high)}`);
    low = high;
  }
  return members.join('');
}
