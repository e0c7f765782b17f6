import { runEnd } from '../decode/runs.ts';
import { separator } from '../decode/separator.ts';
import { SpanMap } from '../decode/span-map.ts';
import type { View } from '../decode/views.ts';
import { byteSet, digits, lowerCase, upperCase } from '../kernel/bytes.ts';
import { outlineOf } from '../kernel/outline.ts';
import type { Match } from '../match/engine.ts';

/*
 * Ends matches with their form field. A sentence goes on to the end of its line and a form has none, so "the
 * password is …" would match all fields behind it. What such a match had swallowed is searched again with the
 * fields set apart.
 */

/** Matches `name=` as forms write it. */
const namePattern = String.raw`[\w.%+[\]-]{1,128}=`;
const beginsLikeForm = new RegExp(`^${namePattern}`);
const beginsField = new RegExp(`^&${namePattern}`);
/** 1 for each character that programs write unescaped in a form. */
const isOfForm = byteSet(`${digits}${lowerCase}${upperCase}-._~!*%+&=[]:/@,?$`);
const nameBytesMax = 130;
const ampersand = 0x26;
/** The quotes inside which an ampersand is no field end. Neither is one in a password that an `@` follows. */
const quotes = new Set([0x22, 0x27, 0x60]);
const atSign = 0x40;

export interface FormFields {
  /** Returns the match up to the end of its field; the same match where it ends in the field. */
  within(view: View, match: Match): Match;
  /** Returns the view with its fields set apart. */
  apart(view: View): View;
}

/**
 * Creates the field reader of a form body. Returns undefined for other text, which a client sends with its
 * default type.
 */
export function formFields(source: Buffer): FormFields | undefined {
  if (!beginsLikeForm.test(source.toString('latin1', 0, nameBytesMax))) return undefined;
  if (runEnd(source, 0, isOfForm) < source.length) return undefined;

  /**
   * Returns the next ampersand between two fields before `to`, or -1. An escaped ampersand separates no
   * fields.
   */
  function nextField(view: View, from: number, to: number): number {
    let sign = view.bytes.indexOf(ampersand, from);
    for (; sign >= 0 && sign < to; sign = view.bytes.indexOf(ampersand, sign + 1)) {
      const { start, end } = view.toSource(sign, sign + 1);
      const isSign = end - start === 1 && source[start] === ampersand;
      if (isSign && beginsField.test(source.toString('latin1', start, start + nameBytesMax))) return sign;
    }
    return -1;
  }

  return {
    within(view, match) {
      const { start, end } = match;
      const isBound = quotes.has(view.bytes[start - 1] ?? 0) || view.bytes[end] === atSign;
      const fieldEnd = isBound ? -1 : nextField(view, start + 1, end);
      return fieldEnd < 0 ? match : { ...match, end: fieldEnd };
    },
    apart(view) {
      const pieces: Buffer[] = [];
      const spans = new SpanMap();
      let length = 0;
      let from = 0;
      const { length: viewLength } = view.bytes;
      for (
        let end = nextField(view, 0, viewLength);
        from <= viewLength;
        end = nextField(view, from, viewLength)
      ) {
        const to = end < 0 ? viewLength : end;
        spans.addLiteral(length, from);
        spans.addWhole(length + to - from, to, to);
        pieces.push(view.bytes.subarray(from, to), separator);
        length += to - from + separator.length;
        from = to + 1;
      }
      const bytes = Buffer.concat(pieces);
      return {
        bytes,
        outline: outlineOf(bytes),
        encodings: view.encodings,
        toSource(start, end) {
          const span = spans.toSource(start, end);
          return view.toSource(span.start, span.end);
        },
      };
    },
  };
}
