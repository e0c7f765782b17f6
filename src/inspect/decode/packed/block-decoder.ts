import type { Outline } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Span } from '../span-map.ts';
import type { OpaqueKind } from './opaque.ts';

/** A text in which encoded values are to be found. */
export interface EncodedText {
  readonly bytes: Buffer;
  readonly outline: Outline;
  /** Long runs of the base64 alphabet (which holds those of hex and base32) that may stand for something, from left to right. */
  readonly runs: readonly EncodedRun[];
  /** What some of them may be. */
  readonly runKinds: number;
}

export interface EncodedRun extends Span {
  /** Of `runKinds`. */
  readonly kinds: number;
}

/** An encoded value, to be cut as a whole, and what it stands for. */
export interface Block extends Span {
  readonly bytes: Buffer;
  /** The bytes stand there as they are; only what can be unpacked of them is new. */
  readonly isLiteral?: boolean;
  /** It only may be packed; what cannot be unpacked of it says nothing. */
  readonly isGuess?: boolean;
  /** What it is if nothing can be unpacked of it. */
  readonly opaque?: OpaqueKind;
  /** Of what it consists, byte by byte and in this order; then only what is found in it is to be cut. */
  readonly parts?: readonly Span[];
}

/** An encoding that writes a value as a whole in another way. */
export interface BlockDecoder {
  readonly name: string;
  /** A quick look: where it says no, nothing is found. Nearly all texts are sent away by it, and nothing is made for them. */
  mayHold(text: EncodedText): boolean;
  /** Every place that may hold such a value. Wrong guesses are allowed: what does not decode to text is dropped later. */
  find(text: EncodedText, budget: DecodeBudget): Iterable<Block>;
}
