import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import { joinedParts } from '../joined-parts.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import type { Span } from '../span-map.ts';

/** Matches a piece, with the name of its parameter, its number, and its value, which may stand in quotes. */
const piece = /([\w-]{1,32})\*(\d{1,2})\*?=(?:"([^"\r\n]{0,1024})"?|([^\s;"]{0,1024}))/dg;
const gap = /^\s{0,32}(?:;\s{0,32})?$/;
const piecesMax = 64;

/**
 * Joins the pieces of a parameter (RFC 2231, 3): `filename*0="ghp_"; filename*1="…"`. Escapes in pieces
 * marked with a further `*` are read like any percent escapes.
 */
export const parameterPieces: BlockDecoder = {
  name: 'parameter-pieces',
  signs: textFlags.parameterPieces,
  mayHold: ({ outline }) => (outline.flags & textFlags.parameterPieces) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    const text = bytes.toString('latin1');
    let parts: Span[] = [];
    let name = '';
    let end = 0;
    for (const { 0: whole, 1: ownName = '', 2: number, index, indices } of text.matchAll(piece)) {
      budget.work(index - end);
      const isNext = ownName === name && Number(number) === parts.length && parts.length < piecesMax;
      if (!isNext || parts.length === 0 || !gap.test(text.slice(end, index))) {
        if (parts.length > 1) yield joinedParts(bytes, parts);
        parts = [];
        name = ownName;
      }
      const [valueStart, valueEnd] = indices?.[3] ?? indices?.[4] ?? [index, index];
      if (Number(number) === parts.length) parts.push({ start: valueStart, end: valueEnd });
      end = index + whole.length;
    }
    if (parts.length > 1) yield joinedParts(bytes, parts);
  },
};
