import { BodyReader, chunked, untilClose } from '../../src/http1/body.ts';
import {
  emptyLineBytes,
  findHeadEnd,
  type Head,
  isPersistent,
  MalformedMessage,
  parseRequestHead,
  parseResponseHead,
} from '../../src/http1/head.ts';

/** One message as somebody read it, with text in latin1. */
export interface Message {
  /** `[method, target]`, or `[status]`. */
  start: string[];
  fields: readonly string[];
  body: string;
  trailers: readonly string[];
}

export interface Reading {
  /** Those that were whole. */
  messages: Message[];
  /** Why reading stopped before the end; '' where it did not. */
  refusal: string;
}

export interface OwnReading extends Reading {
  /** The index behind the last whole message. */
  end: number;
}

interface Opened {
  head: Head;
  start: string[];
  length: number;
  isLast: boolean;
}

function openRequest(text: string): Opened {
  const head = parseRequestHead(text, 100);
  return {
    head,
    start: [head.method, head.target],
    length: head.isChunked ? chunked : Math.max(head.contentLength, 0),
    isLast: !isPersistent(head),
  };
}

function openResponse(text: string): Opened {
  const head = parseResponseHead(text, 100);
  const hasNone = head.status < 200 || head.status === 204 || head.status === 304;
  const declared = head.isChunked ? chunked : head.contentLength < 0 ? untilClose : head.contentLength;
  return { head, start: [String(head.status)], length: hasNone ? 0 : declared, isLast: head.status >= 200 };
}

/** Undefined where it was not refused. Other failures are thrown on. */
export function refusalOf(run: () => unknown): MalformedMessage | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof MalformedMessage) return error;
    throw error;
  }
  return undefined;
}

/** Reads what a connection brought as this codec does, message after message, until the last one or a mistake. */
function readMessages(text: string, open: (text: string) => Opened): OwnReading {
  const bytes = Buffer.from(text, 'latin1');
  const messages: Message[] = [];
  let end = 0;
  let isOver = false;
  const refused = refusalOf(() => {
    for (; !isOver; isOver ||= end === bytes.length) {
      const rest = bytes.subarray(end);
      const headEnd = findHeadEnd(rest, 0);
      if (headEnd < 0) return;
      const { head, start, length, isLast } = open(rest.toString('latin1', 0, headEnd + 2));
      const reader = new BodyReader(length);
      let body = '';
      const size = reader.read(rest, headEnd + emptyLineBytes, (data) => {
        body += data.toString('latin1');
      });
      if (!reader.mayEndHere) return;
      messages.push({ start, fields: head.fields, body, trailers: reader.trailers });
      end += size;
      isOver = isLast;
    }
  });
  return { messages, end, refusal: refused?.message ?? (isOver ? '' : 'cut off') };
}

/** All requests of a connection. */
export const readRequests = (text: string): OwnReading => readMessages(text, openRequest);

/** One answer, behind the interim ones. */
export function readResponse(text: string): OwnReading {
  const reading = readMessages(text, openResponse);
  return { ...reading, messages: reading.messages.filter(({ start }) => Number(start[0]) >= 200) };
}
