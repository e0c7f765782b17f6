import type { Confidence, DataClass } from '../core/call.ts';
import type { View } from './decode/views.ts';
import type { DetectorEngine } from './match/engine.ts';
import { sha256Of } from './patterns/tuning.ts';
import { bodyPart, type ReadBounds, readPart } from './read-part.ts';

/* Shows what the stage `read` finds in a body, with what somebody who tunes detectors wants to know of it. */

export interface Detection {
  readonly kind: string;
  readonly class: DataClass;
  readonly confidence: Confidence;
  /** As in a scan: `body:$.path`. */
  readonly location: string;
  /** Of the first byte in the content as it came, from 1; the column counts characters. */
  readonly line: number;
  readonly column: number;
  /** What the content was decoded by to find it, from the outermost to the innermost; empty where it stands there as it is. */
  readonly encodings: readonly string[];
  /** What `allow_sha256` takes so that it is no finding: of the text in every form in which it was found. */
  readonly sha256: readonly string[];
  /** Its surroundings on the line, in which nothing that was found can be read. */
  readonly preview: string;
}

export interface Detected {
  readonly findings: readonly Detection[];
  /** Why the content could not be read to its end; there may be more in it. */
  readonly unreadable: string | undefined;
}

/** No vendor's host: a credential is at home in no file. */
const nowhere = 'file.invalid';
const contextBytes = 32;

/** Reads the content as the body of a call is read. */
export function detect(
  bytes: Buffer,
  contentType: string,
  engine: DetectorEngine,
  bounds: ReadBounds,
): Detected {
  const part = bodyPart(bytes, contentType, nowhere);
  const { findings, views, unreadable } = readPart(part, engine, bounds);
  if (findings.length === 0) return { findings: [], unreadable };
  const forms = formsOf(views, engine, bounds);
  const masked = Buffer.from(bytes);
  for (const { start, end } of findings) masked.fill('*', start, end);
  const placeOf = placesIn(bytes);
  const shown = findings.toSorted((a, b) => a.start - b.start || b.end - a.end);
  return {
    findings: shown.map(({ class: dataClass, kind, confidence, location, start, end }) => {
      const { encodings = [], sha256 = [] } = forms.get(keyOf(kind, start, end)) ?? {};
      const preview = previewOf(masked, kind, start, end);
      return {
        ...{ kind, class: dataClass, confidence, location, ...placeOf(start) },
        ...{ encodings, sha256: [...sha256], preview },
      };
    }),
    unreadable,
  };
}

interface Form {
  readonly encodings: readonly string[];
  readonly sha256: Set<string>;
}

/** How the texts read that were found, by detector and place. What was found across several values has none. */
function formsOf(views: readonly View[], engine: DetectorEngine, { isOver }: ReadBounds): Map<string, Form> {
  const forms = new Map<string, Form>();
  for (const view of views) {
    const { matches, hints } = engine.find(
      view.bytes,
      { matchesMax: Number.POSITIVE_INFINITY, isOver },
      view.outline,
    );
    for (const { detector, start, end } of [...matches, ...hints]) {
      const source = view.toSource(start, end);
      const key = keyOf(detector.id, source.start, source.end);
      // Views come from the outermost to the innermost: the first says how little it takes to see it.
      const form = forms.get(key) ?? { encodings: view.encodings, sha256: new Set() };
      form.sha256.add(sha256Of(view.bytes.subarray(start, end)));
      forms.set(key, form);
    }
  }
  return forms;
}

const keyOf = (kind: string, start: number, end: number): string => `${kind}:${start}:${end}`;

const lineFeed = 0x0a;

/** Tells lines and columns of offsets that are asked for in ascending order: the bytes are gone through once. */
function placesIn(bytes: Buffer): (at: number) => { line: number; column: number } {
  let next = 0;
  let line = 1;
  let column = 1;
  return (at) => {
    for (; next < at; next += 1) {
      if (bytes[next] === lineFeed) {
        line += 1;
        column = 1;
      } else if (!isContinuation(bytes[next] as number)) column += 1;
    }
    return { line, column };
  };
}

/** Of a character of UTF-8 that has begun before. */
const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

function previewOf(masked: Buffer, kind: string, start: number, end: number): string {
  const before =
    masked
      .toString('utf8', Math.max(0, start - contextBytes), start)
      .split('\n')
      .at(-1) ?? '';
  const [after = ''] = masked.toString('utf8', end, end + contextBytes).split('\n');
  return `${before}[${kind}]${after}`.replaceAll('\ufffd', '').trim();
}
