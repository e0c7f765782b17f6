import type { DataClass } from '../core/call.ts';
import { classesAmong } from '../core/finding.ts';
import type { AnswerReading } from '../decision/answers/read-answer.ts';
import type { AnswerBoundaries, BoundaryFindings } from '../inspect/boundary/answer-boundaries.ts';
import { eventDataOf } from '../inspect/decode/event-data.ts';
import type { ResponseRules } from './rules.ts';

/** One piece of what an upstream sends: a whole answer, an event, a line, a message. */
export interface Piece {
  readonly bytes: Buffer;
  readonly contentType: string;
  /** Content coding of this piece; by default none. */
  readonly contentEncoding?: string;
  /** Codings that the head names for messages in the piece. */
  readonly messageCodings?: readonly string[];
  /**
   * Extent of what was kept of the content; `crowded` means that there was no more room. By default all was
   * kept.
   */
  readonly extent?: 'whole' | 'cut' | 'crowded';
  /** Tells whether the piece is part of a longer content, and so no whole content of its type. */
  readonly isPart?: boolean;
  /** Tells whether the piece must stay as long as it is. */
  readonly isFixed?: boolean;
  /**
   * Tells whether nothing comes before or behind the piece. By default it goes on behind the pieces before
   * it.
   */
  readonly isAlone?: boolean;
}

type Reader = Pick<ResponseRules, 'gate' | 'identity'>;
type Seen = Pick<AnswerReading, 'classes' | 'findings' | 'injection' | 'unreadable'>;

/** A piece, and what it shows by itself and together with those before it. */
export interface SeenPiece extends Seen {
  readonly piece: Piece;
  readonly content: Content;
}

/** Text of a piece that is read and cut by itself. */
interface Content {
  /** Text in which findings have their places. */
  readonly text: Buffer;
  readonly contentType: string;
  /** Tells whether the piece is more than this text, as an event is more than its data. */
  readonly isInside: boolean;
  /** Number of lines over which the piece spreads the text. */
  readonly lines: number;
  /** Tells whether readers of the stream get the text. They get no comments, which so part no text in two. */
  readonly isHeard: boolean;
  /** Returns the piece with another text in its place. */
  with(text: Buffer): Buffer;
}

const eventStream = /^text\/event-stream\b/i;
const protobuf = /^application\/(?:grpc(?!\+json)|(?:x-|vnd\.google\.)?protobuf)/i;

/** Reads a piece by itself, without its coding. */
export const readPiece = (
  { gate, identity }: Reader,
  { bytes, contentType, contentEncoding = '', messageCodings = [] }: Piece,
): Promise<AnswerReading> =>
  gate.answerReader.read(identity, { bytes, contentType, contentEncoding, messageCodings });

/**
 * Reads a piece once more that was read by itself: the text inside it, and that text behind what came before.
 */
export async function readOn(
  reader: Reader,
  piece: Piece,
  alone: AnswerReading,
  boundaries: AnswerBoundaries,
): Promise<SeenPiece> {
  const content = contentOf(piece, alone.plain);
  const isReadAgain = content.isInside && (content.lines > 1 || alone.findings.length > 0);
  const inside = isReadAgain ? await readPiece(reader, { ...content, bytes: content.text }) : undefined;
  const across =
    content.isHeard && !piece.isAlone
      ? await readAcross(reader, piece, content, alone, boundaries)
      : undefined;
  const all = [alone, inside, across];
  const ownFindings = content.isInside ? (inside?.findings ?? []) : alone.findings;
  const findings = across ? [...ownFindings, ...across.findings] : ownFindings;
  return {
    piece,
    content,
    findings,
    classes: classesAmong([...alone.findings, ...findings]),
    injection: (all.find((it) => it?.injection.detected) ?? alone).injection,
    unreadable: all.find((it) => it?.unreadable !== undefined)?.unreadable,
  };
}

async function readAcross(
  { gate, identity }: Reader,
  { contentType }: Piece,
  { text }: Content,
  { findings }: AnswerReading,
  boundaries: AnswerBoundaries,
): Promise<BoundaryFindings> {
  const message = { bytes: text, isProtobuf: protobuf.test(contentType), isTelling: findings.length > 0 };
  return boundaries.read(message, await gate.answerReader.createBoundaryReader(identity));
}

/**
 * Cuts findings of these classes out of a piece without its coding. Resolves to undefined where that cannot
 * be.
 */
export async function redactPiece(
  reader: Reader,
  { piece, content, findings }: SeenPiece,
  classes: readonly DataClass[],
): Promise<Buffer | undefined> {
  if (piece.isFixed) return undefined;
  const { gate, identity } = reader;
  const { text, contentType } = content;
  const redaction = { classes, isStart: piece.extent !== undefined && piece.extent !== 'whole' };
  const cut = await gate.answerReader.redact(identity, { plain: text, findings }, contentType, redaction);
  if (!cut) return undefined;
  if (!content.isInside) return piece.isAlone || endsAlike(cut, text) ? cut : undefined;
  // Beside a cut there may be more of the same class.
  const bytes = content.with(cut);
  const left = await readPiece(reader, { bytes, contentType: piece.contentType });
  const isClean = left.unreadable === undefined && !left.classes.some((it) => classes.includes(it));
  return isClean ? bytes : undefined;
}

const lineEnd = /[\r\n]$/;

/**
 * Tells whether a cut has kept the line end of a text. A line end may be the end of an event; without it,
 * whatever comes behind would be part of that event.
 */
const endsAlike = (cut: Buffer, text: Buffer): boolean =>
  !lineEnd.test(text.toString('latin1', text.length - 1)) || cut.at(-1) === text.at(-1);

function contentOf({ contentType, isPart, isAlone }: Piece, plain: Buffer): Content {
  const isEvent = !isAlone && !isPart && eventStream.test(contentType);
  const event = isEvent ? eventDataOf(plain) : undefined;
  if (!event)
    return { text: plain, contentType, isInside: false, lines: 1, isHeard: !isEvent, with: (it) => it };
  return {
    text: event.data,
    contentType: 'text/plain',
    isInside: true,
    lines: event.lines,
    isHeard: event.data.length > 0,
    with: (it) => event.withData(it),
  };
}
