import { tookTooLong } from '../decode/budget.ts';
import type { InjectionReader } from '../injection/reader.ts';
import type { DetectorEngine } from '../match/engine.ts';
import { type BoundaryReading, readBoundary } from '../message-boundary.ts';
import type { ReadBounds } from '../read-part.ts';
import { type PromptInjection, readInjection } from './answer-injection.ts';

/** Bound on the bytes of a text that are read behind what came before it. */
export const reachBytesMax = 4_096;

/** Reads a text of an answer together with the bytes that came before it. */
export type BoundaryReader = (before: Buffer, text: Buffer) => AnswerBoundaryReading;

interface AnswerBoundaryReading extends Pick<BoundaryReading, 'findings' | 'openFrom' | 'unreadable'> {
  readonly injection: PromptInjection;
}

/** Creates a reader whose calls share `bounds`. */
export function createBoundaryReader(
  engine: DetectorEngine,
  injections: InjectionReader,
  bounds: ReadBounds,
): BoundaryReader {
  const { isOver } = bounds;
  return (before, text) => {
    const reading = readBoundary(before, text, { engine, bounds, reachBytes: reachBytesMax });
    const { findings, openFrom, part, views, unreadable } = reading;
    return {
      findings,
      openFrom,
      injection: readInjection(injections, views, part, { isOver, from: before.length }),
      unreadable: unreadable ?? (isOver() ? tookTooLong : undefined),
    };
  };
}
