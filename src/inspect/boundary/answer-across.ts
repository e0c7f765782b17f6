import { dataClasses, type Finding } from '../../core/call.ts';
import type { InjectionReader } from '../injection/reader.ts';
import type { DetectorEngine } from '../match/engine.ts';
import { counts } from '../parts/sanitize.ts';
import { bodyPart, type ReadBounds, readPart } from '../read-part.ts';
import { type PromptInjection, readInjection } from './answer-injection.ts';

/** Reads a text together with the bytes that came before it. */
export type BoundaryReader = (before: Buffer, text: Buffer) => SeenAcross;

/** Reports what neither of two texts shows alone. */
export interface SeenAcross {
  /** Lists what begins before the text and ends in it. The spans cover only the bytes in the text. */
  readonly findings: readonly Finding[];
  readonly injection: PromptInjection;
  /** Is the place in both texts together where a finding begins that reaches their end; undefined where none does. */
  readonly openFrom: number | undefined;
  readonly unreadable: string | undefined;
}

/** Limits the bytes of the text that are read. A finding that reaches further is taken to fill the text. */
export const reachBytesMax = 4_096;
/** Is no vendor's host, so no credential that comes back in pieces counts as being where it belongs. */
const nowhere = 'seam.invalid';

/** Creates a reader whose calls share `bounds`. */
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
