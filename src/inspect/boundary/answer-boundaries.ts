import type { Finding } from '../../core/call.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { lastBytes, readBoundary } from '../boundary-match.ts';
import { type MessageText, messageTexts } from '../decode/message-texts.ts';
import type { InjectionReader } from '../injection/reader.ts';
import type { DetectorEngine } from '../match/engine.ts';
import type { ReadBounds } from '../read-part.ts';
import { notDetected, type PromptInjection, readInjection } from './answer-injection.ts';

/*
 * Finds what is spread over the messages of one answer: a model writes a secret token by token, each in an event of
 * its own. The end of each text is remembered by the text's path and read again together with the text there in the
 * next message.
 */

/** Limits the paths whose ends are remembered; those that came last are kept. */
const pathsMax = 32;
/** Is the length from which a text that equals the end before it is the same field again, not a continuation. */
const sameBytesMin = 8;
/** Limits the bytes of a text that are read behind what came before it. */
export const reachBytesMax = 4_096;

/** Reads a text together with the bytes that came before it. */
export type BoundaryReader = (before: Buffer, text: Buffer) => TextBoundary;

export interface BoundaryFindings {
  /** Have their places in the text or message that was read last, and cover only bytes of it. */
  readonly findings: readonly Finding[];
  readonly injection: PromptInjection;
  readonly unreadable: string | undefined;
}

interface TextBoundary extends BoundaryFindings {
  readonly openFrom: number | undefined;
}

/** Creates a reader whose calls share `bounds`. */
export function boundaryReader(
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
      unreadable: unreadable ?? (isOver() ? 'reading took too long' : undefined),
    };
  };
}

export interface BoundaryMessage {
  readonly bytes: Buffer;
  readonly isProtobuf: boolean;
  /** Says that something was found in the message, which may go on in the next one. */
  readonly isTelling: boolean;
}

/** Reads the messages of one answer together, in order. Ends are kept as they came, whatever was cut out of them. */
export class AnswerBoundaries {
  readonly #ends = new RecentMap<string, Buffer>(pathsMax);

  /** Returns what the message shows only together with those before it. */
  read({ bytes, isProtobuf, isTelling }: BoundaryMessage, read: BoundaryReader): BoundaryFindings {
    const findings: Finding[] = [];
    let injection = notDetected;
    let unreadable: string | undefined;
    for (const text of messageTexts(bytes, isProtobuf)) {
      const before = this.#ends.get(text.path) ?? noBytes;
      if (isSame(before, text.bytes)) continue;
      const seen = before.length > 0 || isTelling ? read(before, text.bytes) : undefined;
      this.#ends.set(text.path, lastBytes(before, text.bytes, seen?.openFrom));
      if (!seen) continue;
      findings.push(...seen.findings.map((it) => inMessage(it, text)));
      if (seen.injection.detected) injection = seen.injection;
      unreadable ??= seen.unreadable;
    }
    return { findings, injection, unreadable };
  }
}

const noBytes = Buffer.alloc(0);

const isSame = (before: Buffer, text: Buffer): boolean =>
  text.length >= sameBytesMin && before.subarray(-text.length).equals(text);

/** Places a finding in the message. A text that was written with escapes is covered to its end. */
function inMessage(finding: Finding, { start, end, bytes }: MessageText): Finding {
  return { ...finding, start, end: end - start === bytes.length ? start + finding.end : end };
}
