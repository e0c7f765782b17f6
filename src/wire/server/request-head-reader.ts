import type { Gathered } from '../http1/gathered.ts';
import {
  emptyLineBytes,
  findHeadEnd,
  hasBareLineFeed,
  MalformedMessage,
  type ParsedRequestHead,
  parseRequestHead,
} from '../http1/head.ts';
import { knownMethods, nestedTunnel } from './request-problems.ts';

interface HeadLimits {
  readonly maxHeaderBytes: number;
  readonly maxHeaders: number;
}

const cr = 0x0d;
const lf = 0x0a;
const methodLengthMax = 32;
/**
 * Matches the beginning of any request line. A client that speaks something else, such as TLS, is told at
 * once.
 */
const beginning = /^\r?$|^[A-Z-]{1,32}(?: |$)/;

/** Cuts the heads of requests out of what comes on a connection. */
export class RequestHeadReader {
  readonly #waiting: Gathered;
  readonly #mayConnect: boolean;
  /** Number of waiting bytes that were searched and hold no end of a head. */
  #searchedBytes = 0;

  /**
   * Uses `waiting` for a part of a head, and for what follows a whole one. Refuses tunnels unless
   * `mayConnect`.
   */
  constructor(waiting: Gathered, mayConnect: boolean) {
    this.#waiting = waiting;
    this.#mayConnect = mayConnect;
  }

  /**
   * Returns the head that `chunk` completes, or undefined until more comes. Throws where no valid head can
   * come.
   */
  read(chunk: Buffer, { maxHeaderBytes, maxHeaders }: HeadLimits): ParsedRequestHead | undefined {
    const bytes = this.#append(chunk);
    const end = findHeadEnd(bytes, this.#searchedBytes);
    if ((end < 0 ? bytes.length - emptyLineBytes : end) > maxHeaderBytes) {
      throw new MalformedMessage('The head is too long.', true);
    }
    if (end < 0) {
      // A client that ends its lines with a bare LF would wait for an answer until its time is over.
      if (hasBareLineFeed(bytes, this.#searchedBytes))
        throw new MalformedMessage('A line does not end in CRLF.');
      if (!beginning.test(bytes.toString('latin1', 0, methodLengthMax + 1)))
        throw new MalformedMessage('It does not begin with a method.');
      if (this.#waiting.length === 0) this.#waiting.add(bytes);
      this.#searchedBytes = bytes.length;
      return undefined;
    }
    this.#waiting.take();
    this.#searchedBytes = 0;
    const next = end + emptyLineBytes;
    if (next < bytes.length) this.#waiting.add(bytes.subarray(next));
    const head = parseRequestHead(bytes.toString('latin1', 0, end + 2), maxHeaders);
    if (head.method === 'CONNECT') checkConnect(head, this.#mayConnect);
    else checkHead(head);
    return head;
  }

  #append(chunk: Buffer): Buffer {
    let bytes = chunk;
    if (this.#waiting.length > 0) {
      this.#waiting.add(chunk);
      bytes = this.#waiting.peek();
    }
    if (bytes[0] !== cr || bytes[1] !== lf) return bytes;
    // Some clients put an empty line behind a body (RFC 9112, 2.2).
    this.#waiting.take();
    this.#searchedBytes = 0;
    return bytes.subarray(2);
  }
}

/**
 * Checks a request for a tunnel. It has no body, since bytes behind its head belong to the tunnel (RFC 9110,
 * 9.3.6). It needs no Host, since its target says the same.
 */
function checkConnect({ contentLength, isChunked }: ParsedRequestHead, mayConnect: boolean): void {
  if (!mayConnect) throw nestedTunnel();
  if (isChunked || contentLength > 0) throw new MalformedMessage('A request for a tunnel has no body.');
}

/**
 * Checks the method, and that there is one Host, which only HTTP/1.0 may leave out (RFC 9112, 3.2). A server
 * of several hosts would pick whichever it likes of two.
 */
function checkHead({ method, fields, isHttp10 }: ParsedRequestHead): void {
  if (!knownMethods.has(method)) throw new MalformedMessage('The method is unknown.');
  let hosts = 0;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  if (hosts > 1) throw new MalformedMessage('The request has two Host fields.');
  if (hosts === 0 && !isHttp10) throw new MalformedMessage('The request has no Host.');
}
