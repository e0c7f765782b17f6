import type { Outline } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Span } from '../span-map.ts';
import type { OpaqueKind } from './opaque.ts';

/** A text in which encoded values are looked for. */
export interface EncodedText {
  readonly bytes: Buffer;
  readonly outline: Outline;
  /** Long runs of the base64 alphabet, which contains those of hex and base32, from left to right. */
  readonly runs: readonly EncodedRun[];
  /** Kinds of all runs together, as bits. */
  readonly runKinds: number;
}

export interface EncodedRun extends Span {
  /** Possible kinds, as bits of `runKinds`. */
  readonly kinds: number;
}

/** An encoded value, cut as a whole, and what it stands for. */
export interface Block extends Span {
  readonly bytes: Buffer;
  /** Says that the bytes stand there unencoded, so that only what can be unpacked is new. */
  readonly isLiteral?: boolean;
  /** Says that all its lines are one value, as a frame tells. */
  readonly isOne?: boolean;
  /** Says that it may be packed; bytes that cannot be unpacked are dropped. */
  readonly isGuess?: boolean;
  /** Kind of content if nothing can be unpacked. */
  readonly opaque?: OpaqueKind;
  /** Its source spans, byte by byte and in this order, so that only a finding's own part is cut. */
  readonly parts?: readonly Span[];
}

/** Decodes an encoding that writes a value as a whole in another way. */
export interface BlockDecoder {
  readonly name: string;
  /** Flags of a text, see `textFlags`. Where it has none of them, the decoder would find nothing. */
  readonly signs?: number;
  /** Rules out nearly all texts cheaply, without allocating: where it is false, nothing would be found. */
  mayHold(text: EncodedText): boolean;
  /**
   * Yields every place that may be such a value. Wrong guesses are allowed, since what does not decode to
   * text is dropped later.
   */
  find(text: EncodedText, budget: DecodeBudget): Iterable<Block>;
}
