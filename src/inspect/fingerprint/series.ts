import type { Field, FieldFormat } from '../decode/fields.ts';
import type { Span } from '../decode/span-map.ts';
import { byteSet, standsAt } from '../kernel/bytes.ts';
import { blockFlags, type Outline, outlineOf, type Stretch, stretchesOf } from '../kernel/outline.ts';
import { seriesSigns } from '../kernel/series-signs.ts';

/*
 * Finds series: fields whose names number the pieces of a value, such as `part1` and `part2`, `key_a` and
 * `key_b`, `firstHalf` and `secondHalf`.
 */

const ordinals: Readonly<Record<string, number>> = {
  ...{ zero: 0, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6 },
  ...{ first: 1, second: 2, third: 3, fourth: 4, fifth: 5, sixth: 6 },
  ...{
    head: 1,
    tail: 2,
    left: 1,
    right: 2,
    begin: 1,
    start: 1,
    end: 2,
    prefix: 1,
    suffix: 2,
    front: 1,
    back: 2,
  },
};

interface Numbered {
  /** The part that the names of all pieces share. */
  readonly stem: string;
  readonly index: number;
}

/** A field whose name numbers it. */
export interface NumberedField extends Span, Numbered {
  /** The index of the list that it was in. Fields of different lists make no series. */
  readonly list: number;
}

/** Takes a name apart at the last word that is a number; undefined where no word is. */
function numberOf(name: string): Numbered | undefined {
  const words = name.match(/\d{1,4}|[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  const at = words.findLastIndex((word) => indexOf(word) !== undefined);
  const word = words[at];
  if (word === undefined) return undefined;
  return { stem: words.toSpliced(at, 1, '#').join(' '), index: indexOf(word) as number };
}

function indexOf(word: string): number | undefined {
  if (/^\d/.test(word)) return Number(word);
  return /^[A-Ha-h]$/.test(word) ? (word.codePointAt(0) as number) & 0x1f : ordinals[word.toLowerCase()];
}

/** Returns the fields with numbers, list by list. */
export function numberedFields(lists: readonly (readonly Field[])[]): NumberedField[] {
  // In a list of records, the same names come with each record.
  const numbers = new Map<string, Numbered | undefined>();
  return lists.flatMap((fields, list) =>
    fields.flatMap(({ name, start, end }) => {
      if (!numbers.has(name)) numbers.set(name, numberOf(name));
      const numbered = numbers.get(name);
      return numbered ? { ...numbered, list, start, end } : none;
    }),
  );
}

const none: readonly never[] = Object.freeze([]);

/**
 * Returns all series among the fields, each of at least two, in the order of their numbers. A repeated number
 * begins another series.
 */
export function seriesOf(fields: readonly NumberedField[]): NumberedField[][] {
  const series: NumberedField[][] = [];
  const open = new Map<string, Map<number, NumberedField>>();
  const close = (pieces: Map<number, NumberedField>): void => {
    if (pieces.size < 2) return;
    series.push([...pieces].sort(([one], [other]) => one - other).map(([, field]) => field));
  };
  for (const field of fields) {
    const name = `${field.list} ${field.stem}`;
    const pieces = open.get(name) ?? new Map<number, NumberedField>();
    if (!pieces.has(field.index)) {
      open.set(name, pieces.set(field.index, field));
      continue;
    }
    close(pieces);
    open.set(name, new Map([[field.index, field]]));
  }
  for (const pieces of open.values()) close(pieces);
  return series;
}

/** The number of bytes from a digit to the end of the sign behind it. */
const margin = { before: 0, after: 3 };

/** Signs behind a number at the end of a name, by format. */
const signs: Readonly<Record<FieldFormat, readonly Buffer[]>> = {
  json: ['":', '\\":'].map((it) => Buffer.from(it)),
  form: [Buffer.from('=')],
  xml: ['>', '='].map((it) => Buffer.from(it)),
  multipart: [Buffer.from('"')],
  text: ['":', '=', ':'].map((it) => Buffer.from(it)),
  head: ['=', ':'].map((it) => Buffer.from(it)),
};

const beginsSign = byteSet(
  Object.values(signs)
    .flat()
    .map((sign) => sign.toString('latin1', 0, 1))
    .join(''),
);

/**
 * Tells quickly whether fields may be numbered. Nearly all texts have no such names and need not be taken
 * apart. In JSON it knows only the usual names with words. It knows none with letters, which would take too
 * long.
 */
export function mayHoldSeries(bytes: Buffer, format: FieldFormat, outline?: Outline): boolean {
  if (format !== 'json') {
    const stretches = stretchesOf(outline ?? outlineOf(bytes), blockFlags.digit, bytes.length, margin);
    return holdsNumbered(bytes, stretches, signs[format]);
  }
  return tellSeries(seriesSigns(bytes));
}

/**
 * Tells whether fields may be numbered, by the signs of a JSON text. They may be those of its pieces taken
 * together.
 */
export const tellSeries = (signs: number): boolean =>
  (signs & isWorded) === isWorded || areNumbered(signs) || areNumbered(signs >> 3);

/** Bits for names that begin with `first_` and `second_`, the words that number pieces in JSON. */
const isWorded = (1 << 6) | (1 << 7);

const digitZero = 0x30;
const digitTwo = 0x32;
const isFirst = 1 << 1;
const isOther = (1 << 0) | (1 << 2);

const areNumbered = (digits: number): boolean => (digits & isFirst) !== 0 && (digits & isOther) !== 0;

/** Tells whether there are names that end in 1 and others in 0 or 2, with the same sign behind them. */
function holdsNumbered(bytes: Buffer, stretches: readonly Stretch[], behind: readonly Buffer[]): boolean {
  const seen = behind.map(() => 0);
  for (const { from, to } of stretches)
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] as number;
      if (byte < digitZero || byte > digitTwo || beginsSign[bytes[at + 1] ?? 0] === 0) continue;
      for (let sign = 0; sign < behind.length; sign += 1) {
        if (!standsAt(bytes, behind[sign] as Buffer, at + 1)) continue;
        const digits = (seen[sign] as number) | (1 << (byte - digitZero));
        if (areNumbered(digits)) return true;
        seen[sign] = digits;
      }
    }
  return false;
}
