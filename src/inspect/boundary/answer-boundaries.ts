import type { Finding } from '../../core/call.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { type MessageText, messageTexts } from '../decode/message-texts.ts';
import { lastBytes } from '../message-boundary.ts';
import { notDetected, type PromptInjection } from './answer-injection.ts';
import type { BoundaryReader } from './boundary-reader.ts';

/*
 * Finds what is spread over the messages of one answer: a model writes a secret token by token, each in an
 * event of its own. The end of each text is remembered by the text's path. It is read again together with the
 * text at that path in the next message.
 */

/** Bound on the paths whose ends are remembered; those that came last are kept. */
const pathsMax = 32;
/**
 * The least number of bytes of a text that counts as the same field again, where it equals the end before it.
 * A shorter one counts as the field's continuation.
 */
const sameBytesMin = 8;
export interface BoundaryFindings {
  /** The findings, with their places in the message. */
  readonly findings: readonly Finding[];
  readonly injection: PromptInjection;
  readonly unreadable: string | undefined;
}

export interface BoundaryMessage {
  readonly bytes: Buffer;
  readonly isProtobuf: boolean;
  /** Tells whether something was found in the message, which may go on in the next one. */
  readonly isTelling: boolean;
}

/** Reads the messages of one answer together, in order. Ends are kept as they came, before any cut. */
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
