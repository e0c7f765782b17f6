import { randomBytes } from 'node:crypto';
import { beginSip, sipRound } from '../../../util/half-sip-hash.ts';

/*
 * HalfSipHash-1-3 with 32 bits of output, in which each character is one word. Thus hashing can go on from
 * the state behind the beginning of a text. One pass over a host gives the hashes of all its parents, and one
 * pass over a path those of all its directories.
 *
 * The key is drawn once for each process, so that whoever writes a feed cannot make its entries fall into one
 * place of a table. A hash never decides: what it finds is compared with the text.
 */

export type HashKey = Uint32Array;

export function newHashKey(): HashKey {
  const bytes = randomBytes(8);
  return new Uint32Array([bytes.readUInt32LE(0), bytes.readUInt32LE(4)]);
}

/**
 * The bounds of parts and of directories that are looked up. A host of 253 characters has at most 127 labels.
 */
const partsMax = 128;
const directoriesMax = 32;
/** The length up to which paths are looked up. Longer ones are in no feed. */
export const pathLengthMax = 4096;
const hostLengthMax = 253;

const dot = 0x2e;
const slash = 0x2f;
const question = 0x3f;
/** The word between host and path. No character has its value. */
const separator = 0x10000;

/**
 * Holds the place where each part of a text begins (host) or ends (path), and its hash. Look-ups reuse it.
 */
export class Hashes {
  count = 0;
  readonly at = new Uint16Array(partsMax);
  readonly hash = new Uint32Array(partsMax);
  /** The states of the parts of a host, four words each, from which the hash of a path goes on. */
  readonly states = new Int32Array(4 * partsMax);

  add(at: number): void {
    copy(state, 0, this.states, 4 * this.count);
    this.at[this.count] = at;
    this.hash[this.count] = finished();
    this.count++;
  }
}

/** The state of the present hash. It is shared, because all work on it is synchronous. */
const state = new Int32Array(4);
const last = new Int32Array(4);

/**
 * Hashes a host and its parents of two labels or more, the shortest first. Hashes only the host if `isWhole`.
 */
export function hashHost(host: string, isWhole: boolean, key: HashKey, into: Hashes): void {
  const [k0 = 0, k1 = 0] = key;
  beginSip(state, k0, k1);
  into.count = 0;
  if (host.length > hostLengthMax) return;
  let dots = 0;
  for (let index = host.length - 1; index >= 0; index--) {
    const code = host.charCodeAt(index);
    if (code === dot && ++dots > 1 && !isWhole && into.count < partsMax - 1) into.add(index + 1);
    absorb(code);
  }
  into.add(0);
}

/**
 * Hashes all that a feed may list of a canonical path on host number `host`. That is its first 32
 * directories, the path without query, and the whole.
 */
export function hashPath(path: string, states: Int32Array, host: number, into: Hashes): void {
  copy(states, 4 * host, state, 0);
  into.count = 0;
  absorb(separator);
  const end = Math.min(path.length, pathLengthMax);
  let isQuery = false;
  for (let index = 0; index < end; index++) {
    const code = path.charCodeAt(index);
    if (code === question && !isQuery) {
      isQuery = true;
      if (path.charCodeAt(index - 1) !== slash) into.add(index);
    }
    absorb(code);
    const isDirectory = code === slash && !isQuery && index + 1 < path.length;
    if (isDirectory && into.count < directoriesMax) into.add(index + 1);
  }
  if (path.length <= pathLengthMax) into.add(path.length);
}

/** Copies four words. For so few a loop is quicker than `set`. */
function copy(from: Int32Array, fromAt: number, to: Int32Array, toAt: number): void {
  for (let word = 0; word < 4; word++) to[toAt + word] = from[fromAt + word] ?? 0;
}

function absorb(word: number): void {
  state[3] = (state[3] ?? 0) ^ word;
  sipRound(state);
  state[0] = (state[0] ?? 0) ^ word;
}

function finished(): number {
  copy(state, 0, last, 0);
  last[2] = (last[2] ?? 0) ^ 0xff;
  sipRound(last);
  sipRound(last);
  sipRound(last);
  return ((last[1] ?? 0) ^ (last[3] ?? 0)) >>> 0;
}
