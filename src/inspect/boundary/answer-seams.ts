import type { Finding } from '../../core/call.ts';
import { type MessageText, messageTexts } from '../decode/message-texts.ts';
import { lastBytes } from '../seam.ts';
import type { BoundaryReader, SeenAcross } from './answer-across.ts';
import { notDetected, type PromptInjection } from './answer-injection.ts';

/*
 * What is spread over the messages of one answer: a model says a secret token by token, each in an event of its own. What each text of a
 * message ends with is remembered, by the text's path in it, and read again together with what goes on there in the next message.
 */

/** Paths whose ends are remembered; those that came last. */
const pathsMax = 32;
/** Of a finding that has not ended: what goes on behind it belongs to it. */
const openBytesMax = 8_192;
/** As much, word by word the same as before, goes on nothing: it is the same field of the next message. */
const sameBytesMin = 8;

export interface SeenAtSeams {
  /** With their places in the message. */
  readonly findings: readonly Finding[];
  readonly injection: PromptInjection;
  readonly unreadable: string | undefined;
}

export interface SeamMessage {
  readonly bytes: Buffer;
  readonly isProtobuf: boolean;
  /** Something was found in it already, and may go on behind it. */
  readonly isTelling: boolean;
}

/** Reads the messages of one answer together, in their order. Keeps their ends as they came, whatever was cut out of them. */
export class AnswerSeams {
  readonly #ends = new Map<string, Buffer>();

  /** What the message shows only together with those before it. */
  read({ bytes, isProtobuf, isTelling }: SeamMessage, across: BoundaryReader): SeenAtSeams {
    const findings: Finding[] = [];
    let injection = notDetected;
    let unreadable: string | undefined;
    for (const text of messageTexts(bytes, isProtobuf)) {
      const before = this.#ends.get(text.path) ?? noBytes;
      if (isSame(before, text.bytes)) continue;
      const seen = before.length > 0 || isTelling ? across(before, text.bytes) : undefined;
      this.#keep(text, before, seen?.openFrom);
      if (!seen) continue;
      findings.push(...seen.findings.map((it) => inMessage(it, text)));
      if (seen.injection.detected) injection = seen.injection;
      unreadable ??= seen.unreadable;
    }
    return { findings, injection, unreadable };
  }

  #keep({ path, bytes }: MessageText, before: Buffer, openFrom: SeenAcross['openFrom']): void {
    this.#ends.delete(path);
    this.#ends.set(path, endOf(before, bytes, openFrom));
    if (this.#ends.size <= pathsMax) return;
    const [oldest = ''] = this.#ends.keys();
    this.#ends.delete(oldest);
  }
}

const noBytes = Buffer.alloc(0);

function endOf(before: Buffer, text: Buffer, openFrom: number | undefined): Buffer {
  const usual = lastBytes(before, text);
  const from = Math.max(openFrom ?? Number.POSITIVE_INFINITY, before.length + text.length - openBytesMax);
  if (before.length + text.length - from <= usual.length) return usual;
  return Buffer.concat([before, text]).subarray(from);
}

const isSame = (before: Buffer, text: Buffer): boolean =>
  text.length >= sameBytesMin && before.subarray(-text.length).equals(text);

/** Where the text is written in escapes, all of it goes. */
function inMessage(finding: Finding, { start, end, bytes }: MessageText): Finding {
  return { ...finding, start, end: end - start === bytes.length ? start + finding.end : end };
}
