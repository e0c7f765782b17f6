import { dataClasses, type Finding } from '../../core/call.ts';
import type { InjectionReader } from '../injection/reader.ts';
import type { DetectorEngine } from '../match/engine.ts';
import { counts } from '../parts/sanitize.ts';
import { bodyPart, type ReadBounds, readPart } from '../read-part.ts';
import { type PromptInjection, readInjection } from './answer-injection.ts';

/** Reads a text that goes on behind what came before it. */
export type BoundaryReader = (before: Buffer, text: Buffer) => SeenAcross;

/** What neither of the two shows alone. */
export interface SeenAcross {
  /** What begins before the text and ends in it, with the bytes that it has of the text. */
  readonly findings: readonly Finding[];
  readonly injection: PromptInjection;
  /** Where, in the two together, begins what is found at their end and may go on; undefined where nothing does. */
  readonly openFrom: number | undefined;
  readonly unreadable: string | undefined;
}

/** Of a text; what begins before it and does not end within so much is taken to fill it. */
export const reachBytesMax = 4_096;
/** No vendor's host: what comes back in pieces is at home nowhere. */
const nowhere = 'seam.invalid';

/** `bounds` are for all that it is asked to read. */
export function acrossReader(
  engine: DetectorEngine,
  injections: InjectionReader,
  bounds: ReadBounds,
): BoundaryReader {
  return (before, text) => {
    const seam = before.length;
    const joined = Buffer.concat([before, text.subarray(0, reachBytesMax)]);
    const part = bodyPart(joined, 'text/plain', nowhere);
    const { findings, views, unreadable } = readPart(part, engine, bounds);
    const found = findings.filter(counts);
    const endOf = ({ end }: Finding): number => (end === joined.length ? text.length : end - seam);
    const open = found.filter((it) => it.end === joined.length).map((it) => it.start);
    return {
      findings: found
        .filter((it) => it.start < seam && it.end > seam)
        .map((it) => ({ ...it, location: 'body', start: 0, end: endOf(it) })),
      injection: readInjection(injections, views, part, { isOver: bounds.isOver, from: seam }),
      openFrom: open.length > 0 ? Math.min(...open) : undefined,
      unreadable: unreadable ?? (bounds.isOver() ? 'reading took too long' : undefined),
    };
  };
}

export const classesAmong = (findings: readonly Finding[]) =>
  dataClasses.filter((name) => findings.some((it) => it.class === name));
