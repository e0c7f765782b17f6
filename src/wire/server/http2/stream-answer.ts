import type { ServerHttp2Stream } from 'node:http2';
import { GatewayError } from '../../../core/errors.ts';
import type { Answer } from '../../http1/answer.ts';
import { isField } from '../../http1/field.ts';

type Listener = () => void;

/** Writes an answer on a stream of HTTP/2 (RFC 9113, 8.1), which frames it. Names become lower case. */
export class StreamAnswer implements Answer {
  headersSent = false;
  writableEnded = false;
  chunkedEncoding = false;
  /** Tells whether nothing stands behind the head. Known once the head is sent. */
  endsWithHead = false;
  readonly #stream: ServerHttp2Stream;
  readonly #isHead: boolean;
  #isBodiless = false;
  /** Head that waits for the first chunk; flat. */
  #head: string[] = [];
  #trailers: [string, string][] = [];

  /** Answers a request, which may be a HEAD (`isHead`). */
  constructor(stream: ServerHttp2Stream, isHead: boolean) {
    this.#stream = stream;
    this.#isHead = isHead;
  }

  get destroyed(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  /**
   * Makes the head. Throws for an interim status, forbidden names and values, and fields of a connection (RFC
   * 9113, 8.2.2).
   */
  writeHead(status: number, fields: string[]): void {
    if (this.headersSent) throw new Error('The head of an answer is written once.');
    if (!Number.isInteger(status) || status < 200 || status > statusMax) {
      throw new GatewayError('UPSTREAM_PROTOCOL', 'The answer has a status that HTTP/2 does not carry.');
    }
    const isEmpty = emptyStatuses.has(status);
    const head = [':status', String(status)];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = (fields[i] as string).toLowerCase();
      const value = fields[i + 1] as string;
      if (!isField(name, value)) {
        throw new TypeError('A field of the answer has characters that no head may have.');
      }
      if (ofConnection.has(name)) throw new TypeError('How an answer is sent is not for its fields.');
      if (status === 304 || !isEmpty || name !== 'content-length') head.push(name, value);
    }
    this.#isBodiless = this.#isHead || isEmpty;
    this.chunkedEncoding = !this.#isBodiless;
    this.#head = head;
    this.headersSent = true;
  }

  flushHeaders(): void {
    if (!this.destroyed) this.#sendHead(false);
  }

  write(chunk: Buffer): boolean {
    if (!this.#mayWrite()) return false;
    this.#sendHead(false);
    return this.#isBodiless || chunk.length === 0 || this.#stream.write(chunk);
  }

  end(chunk?: Buffer): void {
    if (!this.#mayWrite()) return;
    this.writableEnded = true;
    const hasBody = !this.#isBodiless && chunk !== undefined && chunk.length > 0;
    const isWhole = !hasBody && this.#trailers.length === 0;
    this.#sendHead(isWhole);
    if (hasBody) this.#stream.end(chunk);
    else this.#stream.end();
  }

  /**
   * Adds trailers, which are sent only where there is a body. Throws for names and values as `writeHead`
   * does.
   */
  addTrailers(trailers: [string, string][]): void {
    for (const [name, value] of trailers) {
      if (!isField(name, value)) {
        throw new TypeError('A trailer of the answer has characters that none may have.');
      }
      if (ofConnection.has(name.toLowerCase())) throw new TypeError('No trailer is about a connection.');
    }
    this.#trailers.push(...trailers);
  }

  /** Resets the stream alone: its connection serves others. `close` would end the stream in order first. */
  destroy(): void {
    if (!this.#stream.destroyed) this.#stream.destroy(new Error('The answer is cut off.'));
  }

  on(event: 'drain', listener: Listener): void {
    this.#stream.on(event, listener);
  }

  off(event: 'drain', listener: Listener): void {
    this.#stream.off(event, listener);
  }

  once(event: 'close', listener: Listener): void {
    this.#stream.once(event, listener);
  }

  #mayWrite(): boolean {
    if (!this.headersSent) throw new Error('The head of an answer comes before its body.');
    return !this.writableEnded && !this.destroyed;
  }

  /** Sends the head, once. `isWhole` says that nothing follows it. */
  #sendHead(isWhole: boolean): void {
    if (this.#stream.headersSent) return;
    const stream = this.#stream;
    this.endsWithHead = isWhole;
    const mayHaveTrailers = !isWhole && this.chunkedEncoding;
    if (mayHaveTrailers) stream.once('wantTrailers', () => this.#sendTrailers());
    stream.respond(this.#head, { endStream: isWhole, waitForTrailers: mayHaveTrailers });
    this.#head = [];
  }

  #sendTrailers(): void {
    const byName = Map.groupBy(this.#trailers, ([name]) => name.toLowerCase());
    const values = [...byName].map(([name, pairs]) => [name, pairs.map(([, value]) => value)] as const);
    this.#stream.sendTrailers(Object.fromEntries(values));
  }
}

const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'te',
  'http2-settings',
]);

/** Highest status that Node takes. */
const statusMax = 599;
/** Statuses with whose head Node ends the stream. */
const emptyStatuses: ReadonlySet<number> = new Set([204, 205, 304]);
