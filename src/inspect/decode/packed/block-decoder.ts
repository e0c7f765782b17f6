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
  /** The kinds of all runs together, as bits. */
  readonly runKinds: number;
}

export interface EncodedRun extends Span {
  /** The kinds that it may be, as bits of `runKinds`. */
  readonly kinds: number;
}

/** An encoded value, which is cut as a whole, with the bytes that it stands for. */
export interface Block extends Span {
  readonly bytes: Buffer;
  /** Tells whether the bytes stand there unencoded, so that only what can be unpacked is new. */
  readonly isLiteral?: boolean;
  /** Tells whether all its lines are one value, as a frame around them shows. */
  readonly isOne?: boolean;
  /** Tells whether it is only guessed to be packed: then bytes that cannot be unpacked are dropped. */
  readonly isGuess?: boolean;
  /** The kind of content if nothing can be unpacked. */
  readonly opaque?: OpaqueKind;
  /**
   * Its spans in the source, byte by byte and in this order, so that a cut takes only the part of a finding.
   */
  readonly parts?: readonly Span[];
}

/** Decodes an encoding that writes a value as a whole in another way. */
export interface BlockDecoder {
  readonly name: string;
  /** Flags of a text, see `textFlags`. In a text with none of them, the decoder would find nothing. */
  readonly signs?: number;
  /**
   * Tells cheaply whether a text may hold such values, without allocating. Where it is false, nothing would
   * be found.
   */
  mayHold(text: EncodedText): boolean;
  /**
   * Yields every place that may be such a value. Wrong guesses are allowed, since what does not decode to
   * text is dropped later.
   */
  find(text: EncodedText, budget: DecodeBudget): Iterable<Block>;
}
