import type { Socket } from 'node:net';
import { bySecond } from '../../util/by-second.ts';
import { STATUS_CODES } from '../../util/plain-http.ts';
import type { Answer } from '../http1/answer.ts';
import { isField } from '../http1/field.ts';
import { holdBack } from './hold-back.ts';

/** The parts of a connection that an answer needs. */
export interface AnswerLine {
  readonly socket: Socket;
  /** Last lines of the head of an answer that others may follow. */
  readonly keepAliveLines: string;
  /** Tells whether the connection ends with the answer whose head is being written. */
  endsWithAnswer(): boolean;
  /** Notes that the last byte was given to the socket, which may still hold it. */
  answerEnded(): void;
}

type Listener = () => void;

/**
 * Longest chunk that is copied into one buffer with its frame. A longer one goes out in one system call with
 * its frame all the same.
 */
const copiedBytesMax = 16_384;
const noData = Buffer.alloc(0);

/**
 * Writes an answer on an `AgentConnection`. It frames the body itself (RFC 9112, 6): by the declared
 * Content-Length, which it enforces, else in chunks. For HTTP/1.0 the end of the connection takes the place
 * of chunks.
 */
export class AgentAnswer implements Answer {
  headersSent = false;
  writableEnded = false;
  chunkedEncoding = false;
  /** Tells whether the connection ends with this answer. Known once the head is written. */
  isLast = false;
  readonly #line: AnswerLine;
  readonly #isHead: boolean;
  readonly #isHttp10: boolean;
  #isBodiless = false;
  /** Head that waits for the first chunk; '' where none waits. */
  #head = '';
  /** Bytes of the declared length that are still to be written; -1 where nothing has to be counted. */
  #left = -1;
  #trailers = '';
  #isClosed = false;
  readonly #onClose: Listener[] = [];
  readonly #onDrain: Listener[] = [];

  /** Answers a request, which may be a HEAD (`isHead`) or one of HTTP/1.0 (`isHttp10`). */
  constructor(line: AnswerLine, isHead: boolean, isHttp10: boolean) {
    this.#line = line;
    this.#isHead = isHead;
    this.#isHttp10 = isHttp10;
  }

  get destroyed(): boolean {
    return this.#isClosed || this.#line.socket.destroyed;
  }

  /**
   * Makes the head, with a Date and what frames the body. `Connection: close` among the fields is obeyed; all
   * else in that field is replaced. Throws for an interim status, a name or value that no head may have, a
   * Transfer-Encoding, and a malformed or second length. It throws before anything was sent or changed.
   */
  writeHead(status: number, fields: string[]): void {
    if (this.headersSent) throw new Error('The head of an answer is written once.');
    if (!Number.isInteger(status) || status < 200 || status > 999) {
      throw new RangeError('The status of an answer is a number from 200 to 999.');
    }
    let lines = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    let length = -1;
    let hasDate = false;
    let isLast = this.#line.endsWithAnswer();
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = fields[i] as string;
      const value = fields[i + 1] as string;
      if (!isField(name, value)) {
        throw new TypeError('A field of the answer has characters that no head may have.');
      }
      const known = name.toLowerCase();
      if (known === 'connection') isLast ||= /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(value);
      if (known === 'connection' || known === 'keep-alive') continue;
      if (known === 'transfer-encoding') throw new TypeError('How an answer is sent is not for its fields.');
      if (known === 'content-length') {
        length = toLength(value, length);
        // A client that believed the length would wait for a body (RFC 9110, 8.6).
        if (status === 204) continue;
      }
      hasDate ||= known === 'date';
      lines += `${name}: ${value}\r\n`;
    }
    if (!hasDate) lines += dateLine(Math.floor(Date.now() / 1000));
    this.#isBodiless = this.#isHead || status === 204 || status === 304;
    this.chunkedEncoding = length < 0 && !this.#isBodiless && !this.#isHttp10;
    if (this.chunkedEncoding) lines += 'Transfer-Encoding: chunked\r\n';
    lines += isLast ? 'Connection: close\r\n\r\n' : this.#line.keepAliveLines;
    this.#left = this.#isBodiless ? -1 : length;
    this.#head = lines;
    this.isLast = isLast;
    this.headersSent = true;
  }

  flushHeaders(): void {
    if (this.#head !== '' && !this.destroyed) this.#send(noData, false);
  }

  write(chunk: Buffer): boolean {
    if (!this.#mayWrite(chunk.length)) return false;
    if (this.#isBodiless || chunk.length === 0) return true;
    return this.#send(chunk, false);
  }

  end(chunk: Buffer = noData): void {
    if (!this.#mayWrite(chunk.length)) return;
    if (this.#left > 0) {
      // Half an answer must not look whole, and the next one must not be taken for the other half.
      this.destroy();
      return;
    }
    this.writableEnded = true;
    this.#send(this.#isBodiless ? noData : chunk, true);
    this.#line.answerEnded();
  }

  /**
   * Adds trailers, which are sent only where the body goes in chunks. Throws for a name or value that no head
   * may have.
   */
  addTrailers(trailers: [string, string][]): void {
    for (const [name, value] of trailers) {
      if (!isField(name, value)) {
        throw new TypeError('A trailer of the answer has characters that none may have.');
      }
      this.#trailers += `${name}: ${value}\r\n`;
    }
  }

  destroy(): void {
    const { socket } = this.#line;
    if (this.#isClosed) return;
    // What came before the cut is held back until the turn ends, and would be lost with the socket.
    socket.uncork();
    // A body that ends with its connection would look whole at a clean end, so the connection is reset. Over
    // TLS the missing close_notify says that the body is cut.
    if (this.#isHttp10 && this.headersSent && !('encrypted' in socket)) socket.resetAndDestroy();
    else socket.destroy();
  }

  on(_event: 'drain', listener: Listener): void {
    this.#onDrain.push(listener);
  }

  off(_event: 'drain', listener: Listener): void {
    const at = this.#onDrain.indexOf(listener);
    if (at >= 0) this.#onDrain.splice(at, 1);
  }

  /** Calls a listener once the answer is closed, and never from within a call to this answer. */
  once(_event: 'close', listener: Listener): void {
    this.#onClose.push(listener);
  }

  /** Tells the listeners that the socket takes more. The connection calls this. */
  drained(): void {
    for (const listener of [...this.#onDrain]) listener();
  }

  /**
   * Tells the listeners that all is written, or that the connection is gone. The connection calls this once.
   */
  closed(): void {
    this.#isClosed = true;
    for (const listener of this.#onClose) listener();
  }

  /**
   * Tells whether so many bytes may be written, and counts them down from the declared length. Cuts the
   * answer off where they are more.
   */
  #mayWrite(bytes: number): boolean {
    if (!this.headersSent) throw new Error('The head of an answer comes before its body.');
    if (this.writableEnded || this.destroyed) return false;
    if (this.#left < 0) return true;
    this.#left -= bytes;
    if (this.#left >= 0) return true;
    this.destroy();
    return false;
  }

  #send(data: Buffer, isEnd: boolean): boolean {
    let before = this.#head;
    this.#head = '';
    let after = '';
    if (this.chunkedEncoding) {
      if (data.length > 0) {
        before += `${data.length.toString(16)}\r\n`;
        after = '\r\n';
      }
      if (isEnd) after += `0\r\n${this.#trailers}\r\n`;
    }
    const { socket } = this.#line;
    holdBack(socket);
    return writeTogether(socket, before, data, after);
  }
}

/**
 * Writes data with its frame: what is small in one write, and one TLS record. Returns false where the socket
 * is full.
 */
function writeTogether(socket: Socket, before: string, data: Buffer, after: string): boolean {
  if (before === '' && after === '') return data.length === 0 || socket.write(data);
  if (data.length <= copiedBytesMax) {
    const bytes = Buffer.allocUnsafe(before.length + data.length + after.length);
    bytes.write(before, 0, 'latin1');
    data.copy(bytes, before.length);
    if (after !== '') bytes.write(after, before.length + data.length, 'latin1');
    return socket.write(bytes);
  }
  socket.cork();
  if (before !== '') socket.write(before, 'latin1');
  const mayGoOn = socket.write(data);
  if (after !== '') socket.write(after, 'latin1');
  socket.uncork();
  return mayGoOn;
}

function toLength(value: string, before: number): number {
  if (before >= 0 || !/^\d{1,15}$/.test(value)) throw new TypeError('The length of an answer is malformed.');
  return Number(value);
}

/** Returns the line of the Date field (RFC 9110, 6.6.1). */
const dateLine = bySecond((second) => `Date: ${new Date(second * 1000).toUTCString()}\r\n`);
