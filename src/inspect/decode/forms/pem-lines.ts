import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import { joinedParts } from '../joined-parts.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import type { Span } from '../span-map.ts';

const begin = Buffer.from('-----BEGIN ');
const end = Buffer.from('-----END ');
const isLabel = /^(?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/;
const labelLengthMax = 64;
/** Matches the lines of keys; RFC 7468 has lines of 64 characters, others have 48 to 76. */
const runOfKey = /[A-Za-z0-9+/]{40,}={0,2}/g;
const isDigest = /^[0-9a-fA-F]+=*$/;
const linesMax = 1024;
const lineLengthMax = 4096;
/**
 * Bound on other lines in a row: fields and a blank line before the first line of a key, or lines of other
 * programs.
 */
const otherLinesMax = 8;
const newline = 0x0a;
const space = 0x20;

/**
 * Joins private keys whose lines have text before or behind them: a log's time, level, counter or container,
 * JSON, quoting, signs of a diff. Everything from the first line to the last belongs to the key.
 */
export const pemLines: BlockDecoder = {
  name: 'pem-lines',
  mayHold: ({ outline }) => (outline.flags & textFlags.armour) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    for (let at = bytes.indexOf(begin); at >= 0; at = bytes.indexOf(begin, at + begin.length)) {
      const parts = partsAt(bytes, at, budget);
      if (parts) yield joinedParts(bytes, parts);
    }
  },
};

/**
 * Returns the header, the parts of the lines behind it that belong to the key, and the footer. Returns
 * undefined where the lines have no other text.
 */
function partsAt(bytes: Buffer, start: number, budget: DecodeBudget): Span[] | undefined {
  const labelAt = start + begin.length;
  const [label] = isLabel.exec(bytes.toString('latin1', labelAt, labelAt + labelLengthMax)) ?? [];
  if (label === undefined) return undefined;
  const parts = [{ start, end: labelAt + label.length }];
  let isDressed = false;
  let others = 0;
  let lineEnd = bytes.indexOf(newline, labelAt);
  for (let lines = 0; lineEnd >= 0 && lines < linesMax && others <= otherLinesMax; lines += 1) {
    const lineStart = lineEnd + 1;
    lineEnd = bytes.indexOf(newline, lineStart);
    const line = bytes.subarray(
      lineStart,
      Math.min(lineEnd < 0 ? bytes.length : lineEnd, lineStart + lineLengthMax),
    );
    budget.work(line.length);
    if (line.includes(begin)) break;
    const footer = line.indexOf(end);
    const run = footer < 0 ? lastRun(line) : { start: footer, end: footerEnd(line, footer) };
    if (run) parts.push({ start: lineStart + run.start, end: lineStart + run.end });
    if (footer >= 0) break;
    others = run ? 0 : others + 1;
    isDressed ||= run !== undefined && !isBlank(line, run.start);
  }
  return isDressed ? parts : undefined;
}

/** Returns the last base64 run, with padding, that is long enough for a line of a key and is no digest. */
function lastRun(line: Buffer): Span | undefined {
  const run = [...line.toString('latin1').matchAll(runOfKey)].findLast(([text]) => !isDigest.test(text));
  return run && { start: run.index, end: run.index + run[0].length };
}

function footerEnd(line: Buffer, at: number): number {
  const close = line.indexOf('-----', at + end.length);
  return close < 0 ? line.length : close + '-----'.length;
}

const isBlank = (line: Buffer, to: number): boolean => line.subarray(0, to).every((byte) => byte <= space);
