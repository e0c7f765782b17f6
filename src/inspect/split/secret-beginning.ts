import { kept } from '../../util/kept.ts';
import type { PartialSecret } from '../match/engine.ts';
import { bitsOf, has } from '../patterns/alphabet.ts';
import { type Node, parsePattern } from '../patterns/pattern-syntax.ts';

/*
 * Tells which beginnings of secrets are plain words. `API-Key` and `key_agreement` begin no key whose prefix
 * is followed by digits. The fields behind such words need no search.
 */

const equalsSign = 0x3d;
/** Matches text that changes when it is decoded, so that it may begin anything. */
const mayBeDecoded = /[%&\\\x80-\xff]/;

const patterns = new WeakMap<PartialSecret['detector'], Node>();

function patternOf(detector: PartialSecret['detector']): Node {
  return kept(patterns, detector, () => parsePattern(detector.pattern, detector.flags));
}

/** Tells whether a secret may begin with a cut token of the text, and go on in another field. */
export function mayGoOn(bytes: Buffer, { detector, start, end }: PartialSecret): boolean {
  if (mayBeDecoded.test(bytes.toString('latin1', start, end))) return true;
  const walk = { bytes, end, isAtEnd: false };
  follow(patternOf(detector), [start], walk);
  return walk.isAtEnd;
}

interface Walk {
  readonly bytes: Buffer;
  /** The end of the piece. */
  readonly end: number;
  /**
   * Tells whether a match may reach the end of the piece, or an equals sign, at which a form may end the
   * piece.
   */
  isAtEnd: boolean;
}

/** The bytes of each node's set, since comparing sets makes a 256-bit number each time. */
const setBits = new WeakMap<Node, Int32Array>();

/**
 * Returns where a node may end that begins at one of the places, in ascending order and each once. Returns
 * nothing once the walk is at the end.
 */
function follow(node: Node, places: readonly number[], walk: Walk): readonly number[] {
  if (walk.isAtEnd || places.length === 0) return nowhere;
  switch (node.kind) {
    case 'set': {
      const set = kept(setBits, node, () => bitsOf(node.has));
      const ends: number[] = [];
      for (const at of places) {
        const byte = walk.bytes[at] as number;
        if (at >= walk.end || byte === equalsSign) walk.isAtEnd = true;
        if (at < walk.end && has(set, byte)) ends.push(at + 1);
      }
      return ends;
    }
    case 'edge':
    case 'look':
      return places;
    case 'sequence':
      return node.items.reduce((all, item) => follow(item, all, walk), places);
    case 'choice':
      return distinct(node.options.flatMap((option) => follow(option, places, walk)));
    case 'repeat':
      return repeated(node, places, walk);
  }
}

const nowhere: readonly number[] = Object.freeze([]);

function repeated(
  { item, min, max }: Node & { kind: 'repeat' },
  places: readonly number[],
  walk: Walk,
): readonly number[] {
  const ends = new Set<number>(min === 0 ? places : []);
  let at = places;
  for (let count = 1; count <= max && at.length > 0; count += 1) {
    at = follow(item, at, walk);
    // Places that were reached before lead to nothing new.
    if (count > min) at = at.filter((it) => !ends.has(it));
    if (count >= min) for (const it of at) ends.add(it);
  }
  return distinct([...ends]);
}

const distinct = (places: readonly number[]): readonly number[] =>
  places.length < 2 ? places : [...new Set(places)].sort((a, b) => a - b);
