/*
 * The parts of HalfSipHash (https://github.com/veorq/SipHash). Callers keep its four words of state and mix
 * their own words into them.
 */

/** Begins a hash with this key in `state`. */
export function beginSip(state: Int32Array, k0: number, k1: number): void {
  state[0] = k0;
  state[1] = k1;
  state[2] = 0x6c796765 ^ k0;
  state[3] = 0x74656462 ^ k1;
}

/** Applies one SipRound to the state. */
export function sipRound(state: Int32Array): void {
  let v0 = state[0] ?? 0;
  let v1 = state[1] ?? 0;
  let v2 = state[2] ?? 0;
  let v3 = state[3] ?? 0;
  v0 = (v0 + v1) | 0;
  v1 = rotated(v1, 5) ^ v0;
  v0 = rotated(v0, 16);
  v2 = (v2 + v3) | 0;
  v3 = rotated(v3, 8) ^ v2;
  v0 = (v0 + v3) | 0;
  v3 = rotated(v3, 7) ^ v0;
  v2 = (v2 + v1) | 0;
  v1 = rotated(v1, 13) ^ v2;
  v2 = rotated(v2, 16);
  state[0] = v0;
  state[1] = v1;
  state[2] = v2;
  state[3] = v3;
}

const rotated = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
