import { byteSet, digits, isAlphanumeric, lowerCase, standsAt, upperCase } from '../../kernel/bytes.ts';
import { type Outline, textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import { joinedParts } from '../joined-parts.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import type { Span } from '../span-map.ts';
import { searchForwards } from './search-forwards.ts';

const lessThan = 0x3c;
const slash = 0x2f;
/** The number of letters of the longest name below. */
const nameLengthMax = 7;
/** Bound on the bytes of a tag or comment: a longer one does not merely cut a token. */
const markupBytesMax = 256;
const marksMax = 8;
const charactersMin = 12;
const pieceBytesMax = 4096;
const isToken = byteSet(`${digits}${lowerCase}${upperCase}+/=-_.~:@!$*#%,;?&|'()[]{}`);

const cdataBegin = Buffer.from('<![CDATA[');
const cdataEnd = Buffer.from(']]>');
const commentBegin = Buffer.from('<!--');
const commentEnd = Buffer.from('-->');
const instructionBegin = Buffer.from('<?');
const instructionEnd = Buffer.from('?>');
const tagEnd = Buffer.from('>');
/** Names of tags that are invisible between two letters: phrasing content (HTML, 4.5) and line breaks. */
const inline = new Set(
  (
    'a abbr acronym b bdi bdo big br cite code data del dfn em font i ins kbd mark nobr q s samp small span strike strong sub sup ' +
    'time tt u var wbr'
  )
    .split(' ')
    .map((name) => nameNumber(Buffer.from(name), 0)),
);

/**
 * Joins a token of XML or HTML around tags, comments, processing instructions or boundaries of CDATA
 * sections: `gh<b>p_…</b>`, `gh<wbr>p_…`, `gh<?x?>p_…`, `gh]]><![CDATA[p_…`.
 */
export const markup: BlockDecoder = {
  name: 'markup',
  mayHold: ({ outline }) => outline.places.markup.length > 0,
  *find({ bytes, outline }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    const marks = new HiddenMarkup(bytes, outline, budget);
    let end = 0;
    for (let mark = marks.next(0); mark < bytes.length; mark = marks.next(Math.max(mark + 1, end))) {
      budget.work(1);
      if (isToken[bytes[mark - 1] ?? 0] === 0) continue;
      const markEnd = marks.endFrom(mark);
      if (markEnd === mark || isToken[bytes[markEnd] ?? 0] === 0) continue;
      const block = read(bytes, mark, { marks, from: end, budget });
      end = block.end;
      if (block.bytes.length >= charactersMin && block.bytes.some((byte) => isAlphanumeric(byte)))
        yield block;
    }
  },
};

/** Returns the token around the markup at `mark`, not before `from`. */
function read(
  bytes: Buffer,
  mark: number,
  { marks, from, budget }: { marks: HiddenMarkup; from: number; budget: DecodeBudget },
): Block {
  let start = mark;
  while (start > from && mark - start < pieceBytesMax && isToken[bytes[start - 1] ?? 0] === 1) start -= 1;
  const parts: Span[] = [{ start, end: mark }];
  let end = mark;
  let next = marks.endFrom(end);
  while (next > end && isToken[bytes[next] ?? 0] === 1) {
    end = next;
    while (end < bytes.length && isToken[bytes[end] ?? 0] === 1 && !standsAt(bytes, cdataEnd, end)) end += 1;
    budget.work(end - next);
    parts.push({ start: next, end });
    next = marks.endFrom(end);
  }
  return joinedParts(bytes, parts);
}

/**
 * Finds markup that is invisible inside a word: phrase tags, comments, processing instructions (XML, 2.6),
 * and ends and starts of CDATA sections. Each has at most 256 bytes.
 */
class HiddenMarkup {
  readonly #bytes: Buffer;
  readonly #tags: Int32Array;
  #tagsPassed = 0;
  readonly #hasCdata: boolean;
  /** The search for the next of each sign with which markup ends. */
  readonly #nextOf: ReadonlyMap<Buffer, (from: number) => number>;

  constructor(bytes: Buffer, { flags, places }: Outline, budget: DecodeBudget) {
    this.#bytes = bytes;
    this.#tags = places.markup;
    this.#hasCdata = (flags & textFlags.cdata) !== 0;
    const ends = [cdataEnd, commentEnd, instructionEnd, tagEnd];
    this.#nextOf = new Map(ends.map((sign) => [sign, searchForwards(bytes, sign, budget)]));
  }

  /** Returns the next place from `from` on that may be such markup; the text's end where there is none. */
  next(from: number): number {
    while ((this.#tags[this.#tagsPassed] ?? from) < from) this.#tagsPassed += 1;
    const tag = this.#tags[this.#tagsPassed] ?? this.#bytes.length;
    return this.#hasCdata ? Math.min(tag, this.#place(cdataEnd, from)) : tag;
  }

  /** Returns the end of up to eight such marks in a row at `at`; `at` where there is none. */
  endFrom(at: number): number {
    let end = at;
    for (let count = 0; count < marksMax; count += 1) {
      const next = this.#endOfOne(end);
      if (next === end) break;
      end = next;
    }
    return end;
  }

  #endOfOne(at: number): number {
    const bytes = this.#bytes;
    if (standsAt(bytes, cdataEnd, at)) return at + cdataEnd.length;
    if (bytes[at] !== lessThan) return at;
    if (standsAt(bytes, cdataBegin, at)) return at + cdataBegin.length;
    const sign = this.#endSignAt(at);
    const place = sign ? this.#place(sign, at) : bytes.length;
    const end = sign && place < bytes.length ? place + sign.length : at;
    return end - at > markupBytesMax ? at : end;
  }

  /** Returns the sign with which the markup at `at` ends; undefined where the markup is visible. */
  #endSignAt(at: number): Buffer | undefined {
    const bytes = this.#bytes;
    if (standsAt(bytes, commentBegin, at)) return commentEnd;
    if (standsAt(bytes, instructionBegin, at)) return instructionEnd;
    return inline.has(nameNumber(bytes, bytes[at + 1] === slash ? at + 2 : at + 1)) ? tagEnd : undefined;
  }

  /** Returns the place of the next such sign; the text's end where there is none. */
  #place(sign: Buffer, from: number): number {
    return this.#nextOf.get(sign)?.(from) ?? this.#bytes.length;
  }
}

/**
 * Returns the letters of a name as digits of a number, in any case; -1 for any other name. So a look-up needs
 * no string.
 */
function nameNumber(bytes: Buffer, start: number): number {
  let number = 0;
  for (let at = start; at <= start + nameLengthMax; at += 1) {
    const byte = bytes[at] ?? 0;
    const letter = isAlphanumeric(byte) && byte >= 0x41 ? byte & 0x1f : 0;
    if (letter === 0) return isAlphanumeric(byte) || byte === 0x2d ? -1 : number;
    number = number * 32 + letter;
  }
  return -1;
}
