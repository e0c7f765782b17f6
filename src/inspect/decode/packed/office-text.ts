import type { DecodeBudget } from '../budget.ts';
import { columnsMax } from '../tables/cell.ts';
import { isZip } from './compression.ts';
import type { ZipEntry } from './zip.ts';

/*
 * Shows the XML of office files (ECMA-376, OpenDocument 1.3) as their readers see it. Word processors cut a word into
 * runs wherever its format changes, and spreadsheets keep texts apart from their cells, so that no name stands beside
 * its value. Paragraphs become lines here, and rows of tables and sheets become lines with tabs between the cells.
 */

/** Local names of the elements, in any of the formats. */
const rows = new Set(['tr', 'row', 'table-row']);
const cells = new Set(['tc', 'c', 'table-cell', 'covered-table-cell']);
const lines = new Set(['p', 'h', 'br', 'cr', 'line-break']);
const spaces = new Set(['tab', 's']);

/** The number of characters in which the root element of a part is looked for. */
const rootSample = 2048;
const stringsRoot = /<(?:\w+:)?sst[\s>]/;
/** Matches the attributes of a cell that tell its column, and that its value is the index of a shared text. */
const columnAttribute = /\sr="([A-Z]{1,3})\d/;
const sharedAttribute = /\st="s"/;
const attributesMax = 512;
const space = 0x20;
const slash = 0x2f;
const colon = 0x3a;

/** Returns the shown texts of the XML parts of an archive. */
export function shownTexts(entries: readonly ZipEntry[], budget: DecodeBudget): Buffer[] {
  const parts = entries
    .filter(({ name }) => name.toLowerCase().endsWith('.xml'))
    .map(({ content }) => content.toString('latin1'));
  const strings = parts
    .filter((xml) => stringsRoot.test(xml.slice(0, rootSample)))
    .flatMap((xml) => sharedStrings(xml, budget));
  return parts.map((xml) => Buffer.from(shownText(xml, strings, budget), 'latin1'));
}

/** The number of bytes before the name of an archive's first entry (APPNOTE 4.3.7). */
const nameAt = 30;
const nameSample = 64;
/** Matches the first entry of office files. One of OpenDocument is its type, which is not packed (ODF 1.3, part 2). */
const firstEntry =
  /^(?:\[Content_Types\]\.xml|_rels\/|docProps\/|customXml\/|word\/|xl\/|ppt\/|mimetypeapplication\/vnd\.oasis\.)/;

/** Tells whether a file begins as an office file does that is an archive. */
export const isOfficeFile = (start: Buffer): boolean =>
  isZip(start) && firstEntry.test(start.toString('latin1', nameAt, nameAt + nameSample));

interface Tag {
  /** The name without its prefix. */
  readonly name: string;
  readonly attributes: string;
  readonly isOpening: boolean;
  readonly isClosing: boolean;
  /** The text between the tag and the next one. */
  readonly text: string;
}

/** Yields the tags of an XML text, in linear time whatever the text. */
function* tagsOf(xml: string, budget: DecodeBudget): Iterable<Tag> {
  for (let start = xml.indexOf('<'); start >= 0; ) {
    const end = xml.indexOf('>', start);
    if (end < 0) return;
    const next = xml.indexOf('<', end);
    budget.work((next < 0 ? xml.length : next) - start);
    const isEnd = xml[start + 1] === '/';
    let nameStart = isEnd ? start + 2 : start + 1;
    let nameEnd = nameStart;
    for (let code = xml.charCodeAt(nameEnd); nameEnd < end && code > space && code !== slash; ) {
      nameEnd += 1;
      if (code === colon) nameStart = nameEnd;
      code = xml.charCodeAt(nameEnd);
    }
    yield {
      name: xml.slice(nameStart, nameEnd),
      attributes: xml.slice(nameEnd, Math.min(end, nameEnd + attributesMax)),
      isOpening: !isEnd,
      isClosing: isEnd || xml[end - 1] === '/',
      text: xml.slice(end + 1, next < 0 ? xml.length : next),
    };
    start = next;
  }
}

/** Returns the texts that the cells of all sheets refer to by their index (18.4), without their readings. */
function sharedStrings(xml: string, budget: DecodeBudget): string[] {
  const strings: string[] = [];
  let item = '';
  let isReading = false;
  for (const { name, isOpening, isClosing, text } of tagsOf(xml, budget)) {
    if (name === 'rPh') isReading = !isClosing;
    if (name === 't' && isOpening && !isReading) item += text;
    if (name !== 'si' || !isClosing) continue;
    strings.push(item);
    item = '';
  }
  return strings;
}

function shownText(xml: string, strings: readonly string[], budget: DecodeBudget): string {
  let shown = '';
  let column = 0;
  let cellsOpen = 0;
  let isShared = false;
  for (const { name, attributes, isOpening, isClosing, text } of tagsOf(xml, budget)) {
    if (cells.has(name)) {
      if (isOpening) {
        const at = columnOf(attributes) ?? column;
        const tabs = Math.max(0, Math.min(columnsMax, at - column + (column > 0 ? 1 : 0)));
        if (tabs > 1) budget.spend(tabs);
        shown += '\t'.repeat(tabs);
        column = at + 1;
        cellsOpen += 1;
        isShared = sharedAttribute.test(attributes);
      }
      if (isClosing) cellsOpen -= 1;
    } else if (rows.has(name)) {
      if (isClosing) shown += '\n';
      column = 0;
    } else if (isClosing && lines.has(name)) shown += cellsOpen > 0 ? ' ' : '\n';
    else if (isClosing && spaces.has(name)) shown += ' ';
    const isIndex = isShared && cellsOpen > 0 && name === 'v' && isOpening;
    const value = isIndex ? (strings[Number(text)] ?? '') : text;
    if (isIndex) budget.spend(value.length);
    // The formula of a cell is not shown.
    if (name !== 'f' || !isOpening) shown += value;
  }
  return shown;
}

/** Returns the index of a cell's column; undefined where the cell follows the one before it. */
function columnOf(attributes: string): number | undefined {
  const letters = columnAttribute.exec(attributes)?.[1];
  if (!letters) return undefined;
  let number = 0;
  for (const letter of letters) number = number * 26 + letter.charCodeAt(0) - 64;
  return number - 1;
}
