import {
  byteSet,
  isAlphanumeric,
  isLetter,
  isLower,
  lowerCase,
  standsAt,
  upperCase,
} from '../kernel/bytes.ts';

/*
 * Removes what stands unseen between the words of a text: tags, marks of emphasis, hyphens at line ends, and the
 * joints of a name that is a whole sentence. Phrases are looked for in the resulting text, too.
 */

/** A text as its readers see it. */
export interface ShownText {
  readonly bytes: Buffer;
  /** Maps bytes of the text to those of the source. */
  toSource(start: number, end: number): { start: number; end: number };
}

/** Bytes that are left out, with the text that is seen in their place. */
interface Cut {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
}

/** Bound on the cuts of each kind; 600 KB of nothing but tags have as many. */
const cutsMax = 200_000;
const tagBytesMax = 1000;
/** The least number of words of a name that is a sentence. */
const nameWordsMin = 5;
const nameLengthMin = 24;
const nameLengthMax = 400;

/** The number of bytes of a name that fit into an exact number. */
const nameBytesMax = 6;

const lessThan = 0x3c;
const greaterThan = 0x3e;
const slash = 0x2f;
const exclamationMark = 0x21;
const questionMark = 0x3f;
const cdataBegin = Buffer.from('<![CDATA[');
const cdataEnd = Buffer.from(']]>');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Names of elements that do not separate the words around them (HTML, 3.2.5.2.5). */
const inlineNames = namesOf(
  'a abbr b bdi bdo big cite data del em font i ins label mark q s small span strong sub sup time tt u var wbr',
);
const codeNames = namesOf('code kbd pre samp');

/** Returns the text as readers see it, in linear time; undefined where they see all of it. */
export function asShown(bytes: Buffer): ShownText | undefined {
  const ends = bytes.includes(cdataBegin) ? sectionEndsIn(bytes) : [];
  const cuts = [
    ...tagsIn(bytes),
    ...ends,
    ...emphasisIn(bytes),
    ...hyphensIn(bytes),
    ...sentenceNamesIn(bytes),
  ];
  return cuts.length === 0
    ? undefined
    : withCuts(
        bytes,
        cuts.sort((a, b) => a.start - b.start),
      );
}

function tagsIn(bytes: Buffer): Cut[] {
  const cuts: Cut[] = [];
  let close = -1;
  for (let at = bytes.indexOf(lessThan); at >= 0; at = bytes.indexOf(lessThan, at + 1)) {
    const next = bytes[at + 1];
    if (!isLetter(next) && next !== slash && next !== exclamationMark && next !== questionMark) continue;
    if (cuts.length >= cutsMax) break;
    // What stands in a section of character data is shown.
    if (next === exclamationMark && standsAt(bytes, cdataBegin, at)) {
      cuts.push({ start: at, end: at + cdataBegin.length, shown: '' });
      continue;
    }
    if (close < at) close = bytes.indexOf(greaterThan, at);
    if (close < 0) break;
    if (close - at > tagBytesMax) continue;
    cuts.push({ start: at, end: close + 1, shown: insteadOfTag(bytes, at) });
    at = close;
  }
  return cuts;
}

/** Returns the ends of sections of character data (XML, 2.7). */
function sectionEndsIn(bytes: Buffer): Cut[] {
  const cuts: Cut[] = [];
  for (
    let at = bytes.indexOf(cdataEnd);
    at >= 0 && cuts.length < cutsMax;
    at = bytes.indexOf(cdataEnd, at + 3)
  )
    cuts.push({ start: at, end: at + cdataEnd.length, shown: '' });
  return cuts;
}

/** Marks of Markdown that stand in a word: `**Ig**nore`. Around words they hide nothing. */
const emphasis = ['**', '~~'];

function emphasisIn(bytes: Buffer): Cut[] {
  const cuts: Cut[] = [];
  for (const mark of emphasis) {
    for (let at = bytes.indexOf(mark); at >= 0 && cuts.length < cutsMax; at = bytes.indexOf(mark, at + 2))
      if (isLetter(bytes[at - 1]) && isLetter(bytes[at + 2]))
        cuts.push({ start: at, end: at + 2, shown: '' });
  }
  return cuts;
}

function insteadOfTag(bytes: Buffer, at: number): string {
  if (bytes[at + 1] === exclamationMark || bytes[at + 1] === questionMark) return '';
  const name = nameAt(bytes, bytes[at + 1] === slash ? at + 2 : at + 1);
  // Elements of code mark phrases as backticks do.
  return inlineNames.has(name) ? '' : codeNames.has(name) ? '`' : '\n';
}

function namesOf(names: string): ReadonlySet<number> {
  return new Set(names.split(' ').map((name) => nameAt(Buffer.from(name), 0)));
}

/**
 * Returns the first six letters of an element's name, in any case, as a number: pages have thousands of
 * names.
 */
function nameAt(bytes: Buffer, start: number): number {
  let name = 0;
  for (let at = start; at < start + nameBytesMax && isAlphanumeric(bytes[at]); at += 1)
    name = name * 256 + ((bytes[at] as number) | 0x20);
  return name;
}

/** Returns the hyphens at which a line end broke a word. */
function hyphensIn(bytes: Buffer): Cut[] {
  const cuts: Cut[] = [];
  for (let at = bytes.indexOf('-'); at >= 0 && cuts.length < cutsMax; at = bytes.indexOf('-', at + 1)) {
    const end = at + (bytes[at + 1] === carriageReturn ? 3 : 2);
    if (bytes[end - 1] === lineFeed && isLower(bytes[at - 1]) && isLower(bytes[end]))
      cuts.push({ start: at, end, shown: '' });
  }
  return cuts;
}

/** The bytes of a name. */
const ofName = byteSet(`${lowerCase}${upperCase}_`);

/**
 * Returns names such as `do_this_and_then_do_that`, to be shown word for word. In text without such names,
 * every 24th byte is looked at.
 */
function sentenceNamesIn(bytes: Buffer): Cut[] {
  const cuts: Cut[] = [];
  let from = 0;
  for (let at = nameLengthMin - 1; at < bytes.length && cuts.length < cutsMax; ) {
    let start = at;
    while (start >= from && ofName[bytes[start] as number] === 1) start -= 1;
    start += 1;
    let end = at;
    if (start <= at) while (end < bytes.length && ofName[bytes[end] as number] === 1) end += 1;
    from = Math.max(end, at + 1);
    at = from + nameLengthMin - 1;
    if (end - start < nameLengthMin || end - start > nameLengthMax) continue;
    const words = bytes.toString('latin1', start, end).split(/_+|(?<=[a-z])(?=[A-Z])/);
    if (words.length >= nameWordsMin) cuts.push({ start, end, shown: `\`${words.join(' ')}\`` });
  }
  return cuts;
}

/** Applies cuts in their order; a cut that begins in another is left out. */
function withCuts(bytes: Buffer, all: readonly Cut[]): ShownText {
  let from = 0;
  const cuts = all.filter(({ start, end }) => {
    const isApart = start >= from;
    if (isApart) from = end;
    return isApart;
  });
  const longer = cuts.reduce(
    (sum, { start, end, shown }) => sum + Math.max(0, shown.length - (end - start)),
    0,
  );
  const text = Buffer.allocUnsafe(bytes.length + longer);
  let length = 0;
  from = 0;
  for (const { start, end, shown } of cuts) {
    length += bytes.copy(text, length, from, start);
    for (let at = 0; at < shown.length; at += 1) text[length++] = shown.charCodeAt(at);
    from = end;
  }
  length += bytes.copy(text, length, from);
  return {
    bytes: text.subarray(0, length),
    toSource: (start, end) => ({ start: sourceOf(cuts, start).start, end: sourceOf(cuts, end - 1).end }),
  };
}

/** Returns the byte, or the whole cut, that a byte of the shown text stands for. */
function sourceOf(cuts: readonly Cut[], offset: number): { start: number; end: number } {
  /** The bytes by which the source is ahead of the shown text. */
  let ahead = 0;
  for (const { start, end, shown } of cuts) {
    if (offset + ahead < start) break;
    if (offset + ahead < start + shown.length) return { start, end };
    ahead += end - start - shown.length;
  }
  return { start: offset + ahead, end: offset + ahead + 1 };
}
