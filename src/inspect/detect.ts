import type { Confidence, DataClass } from '../core/call.ts';
import type { View } from './decode/views.ts';
import { isContinuation } from './kernel/bytes.ts';
import type { DetectorEngine } from './match/engine.ts';
import { sha256Of } from './patterns/tuning.ts';
import { bodyPart, type ReadBounds, readPart } from './read-part.ts';

/* Reports what reading finds in a body, in the detail that people need who tune detectors. */

export interface Detection {
  readonly kind: string;
  readonly class: DataClass;
  readonly confidence: Confidence;
  /** The place, in the form of a scan's location: `body:$.path`. */
  readonly location: string;
  /** The line of the first byte, counted from 1, and below it the column, which counts characters. */
  readonly line: number;
  readonly column: number;
  /** The decoders that led to it, outermost first; empty where it stands undecoded. */
  readonly encodings: readonly string[];
  /** The digests that `allow_sha256` needs to allow it, one for each form in which it was found. */
  readonly sha256: readonly string[];
  /** The text around it on its line, with every finding masked. */
  readonly preview: string;
}

export interface Detected {
  readonly findings: readonly Detection[];
  /**
   * The reason why reading stopped before the end, so that there may be more findings; undefined where it did
   * not.
   */
  readonly unreadable: string | undefined;
}

/** A name that is no vendor's host, so no credential in a file counts as being where it belongs. */
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

/**
 * Maps each detector and place to the form in which it was found. A value joined from several fields has
 * none.
 */
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
      // Views come outermost first, so the first one needs the fewest decoders.
      const form = forms.get(key) ?? { encodings: view.encodings, sha256: new Set() };
      form.sha256.add(sha256Of(view.bytes.subarray(start, end)));
      forms.set(key, form);
    }
  }
  return forms;
}

const keyOf = (kind: string, start: number, end: number): string => `${kind}:${start}:${end}`;

const lineFeed = 0x0a;

/** Returns what tells line and column of offsets, which must be asked for in ascending order. */
function placesIn(bytes: Buffer): (at: number) => { line: number; column: number } {
  let next = 0;
  let line = 1;
  let column = 1;
  return (at) => {
    for (; next < at; next += 1) {
      if (bytes[next] === lineFeed) {
        line += 1;
        column = 1;
      } else if (!isContinuation(bytes[next])) column += 1;
    }
    return { line, column };
  };
}

function previewOf(masked: Buffer, kind: string, start: number, end: number): string {
  const before =
    masked
      .toString('utf8', Math.max(0, start - contextBytes), start)
      .split('\n')
      .at(-1) ?? '';
  const [after = ''] = masked.toString('utf8', end, end + contextBytes).split('\n');
  return `${before}[${kind}]${after}`.replaceAll('\ufffd', '').trim();
}
