import type { DataClass, Identity } from '../core/call.ts';
import type { AnswerReading } from '../decision/answers/read-answer.ts';
import type { Gate } from '../decision/gate.ts';
import { classesAmong } from '../inspect/boundary/answer-across.ts';
import { notDetected } from '../inspect/boundary/answer-injection.ts';
import type { AnswerSeams, SeenAtSeams } from '../inspect/boundary/answer-seams.ts';
import { eventDataOf } from '../inspect/decode/event-data.ts';

/* One unit that an upstream sends: a message of a WebSocket or of gRPC, an event or a line of a stream. */

export interface IncomingMessage {
  readonly bytes: Buffer;
  readonly contentType: string;
  /** The content coding of this message; by default none. */
  readonly contentEncoding?: string;
  /** It is a part of a longer message, and so is no whole message of its type. */
  readonly isPart?: boolean;
  /** More of it comes in unread. */
  readonly isStart?: boolean;
  /** It must stay as long as it is. */
  readonly isFixed?: boolean;
}

/** Who receives it, and who reads it. */
export interface Receiving {
  readonly gate: Pick<Gate, 'answerReader'>;
  readonly identity: Identity;
}

/** Findings in the message, by itself and together with those before it. */
export interface SeenMessage
  extends Pick<AnswerReading, 'classes' | 'findings' | 'injection' | 'unreadable'> {
  readonly message: IncomingMessage;
  readonly content: Content;
}

/** A text within a message that is read and cut by itself. */
interface Content {
  /** The text in which findings have their places. */
  readonly text: Buffer;
  readonly contentType: string;
  /** The message is more than this text. */
  readonly isInside: boolean;
  /** It comes to whoever reads the stream. Comments do not, so that they must not stand between two pieces of a text. */
  readonly isHeard: boolean;
  /** The message with another text in its place. */
  with(text: Buffer): Buffer;
}

const eventStream = /^text\/event-stream\b/i;
const nothingAcross: SeenAtSeams = { findings: [], injection: notDetected, unreadable: undefined };
const protobuf = /^application\/(?:grpc(?!\+json)|(?:x-|vnd\.google\.)?protobuf)/i;

/** As `AnswerReader.read`, without its coding. */
export const readIncoming = (
  { gate, identity }: Receiving,
  { bytes, contentType, contentEncoding = '' }: IncomingMessage,
): Promise<AnswerReading> => gate.answerReader.read(identity, { bytes, contentType, contentEncoding });

/** Reads a message that was read by itself once more: what it holds for its receiver, and behind what came before. */
export async function readInside(
  receiving: Receiving,
  message: IncomingMessage,
  alone: AnswerReading,
  seams: AnswerSeams,
): Promise<SeenMessage> {
  const { gate, identity } = receiving;
  const { content, lines } = contentOf(message, alone.plain);
  const isReadAgain = content.isInside && (lines > 1 || alone.findings.length > 0);
  const inside = isReadAgain ? await readIncoming(receiving, { ...content, bytes: content.text }) : undefined;
  const across = content.isHeard
    ? seams.read(
        {
          bytes: content.text,
          isProtobuf: protobuf.test(message.contentType),
          isTelling: alone.findings.length > 0,
        },
        await gate.answerReader.acrossReader(identity),
      )
    : nothingAcross;
  const ownFindings = content.isInside ? (inside?.findings ?? []) : alone.findings;
  const findings = [...ownFindings, ...across.findings];
  const detected = [alone, inside, across].find((it) => it?.injection.detected);
  return {
    message,
    content,
    findings,
    classes: classesAmong([...alone.findings, ...findings]),
    injection: (detected ?? alone).injection,
    unreadable: alone.unreadable ?? inside?.unreadable ?? across.unreadable,
  };
}

/** The message without its findings of these classes, and without its coding; undefined where they cannot be cut out. */
export async function redactIncoming(
  receiving: Receiving,
  { message, content, findings }: SeenMessage,
  classes: readonly DataClass[],
): Promise<Buffer | undefined> {
  if (message.isFixed) return undefined;
  const { gate, identity } = receiving;
  const { text, contentType } = content;
  const redaction = { classes, isStart: message.isStart ?? false };
  const cut = await gate.answerReader.redact(identity, { plain: text, findings }, contentType, redaction);
  if (!content.isInside) return cut && endsAlike(cut, text) ? cut : undefined;
  if (!cut) return undefined;
  // Beside what was cut there may be more of it.
  const bytes = content.with(cut);
  const left = await readIncoming(receiving, { bytes, contentType: message.contentType });
  const isClean = left.unreadable === undefined && !left.classes.some((it) => classes.includes(it));
  return isClean ? bytes : undefined;
}

const lineEnd = /[\r\n]$/;

/** A line end may be the end of an event, and whatever comes behind it would be part of it. */
const endsAlike = (cut: Buffer, text: Buffer): boolean =>
  !lineEnd.test(text.toString('latin1', text.length - 1)) || cut.at(-1) === text.at(-1);

function contentOf(
  { contentType, isPart }: IncomingMessage,
  plain: Buffer,
): { content: Content; lines: number } {
  const isEvent = eventStream.test(contentType) && !isPart;
  const event = isEvent ? eventDataOf(plain) : undefined;
  if (!event) {
    const content = { text: plain, contentType, isInside: false, isHeard: !isEvent };
    return { content: { ...content, with: (it) => it }, lines: 1 };
  }
  const content: Content = {
    text: event.data,
    contentType: 'text/plain',
    isInside: true,
    isHeard: event.data.length > 0,
    with: (it) => event.withData(it),
  };
  return { content, lines: event.lines };
}
