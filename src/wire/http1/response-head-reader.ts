import { Gathered } from './gathered.ts';
import {
  emptyLineBytes,
  findHeadEnd,
  hasBareLineFeed,
  MalformedMessage,
  parseResponseHead,
  type ResponseHead,
} from './head.ts';

const headBytesMax = 65_536;
/** Limits of an answer in any protocol: the fields of its head, and the interim heads before it. */
export const fieldsMax = 200;
export const interimMax = 16;
const statusLineStart = 'HTTP/1.';

const nothing = Buffer.alloc(0);

/** Finds the head of one answer in the bytes of a connection, behind the interim ones. */
export class ResponseHeadReader {
  /** Bytes behind the head that `read` returned. */
  rest: Buffer = nothing;
  /** Beginning of a head whose end has not come yet. */
  readonly #held = new Gathered();
  #interimHeads = 0;

  /**
   * Returns the final head, or undefined until it has come. With `maySwitch` 101 is final. Throws
   * `MalformedMessage`.
   */
  read(bytes: Buffer, maySwitch = false): ResponseHead | undefined {
    let seen = this.#held.length;
    let unread = bytes;
    if (seen > 0) {
      this.#held.add(bytes);
      unread = this.#held.take();
    }
    for (;;) {
      const end = findHeadEnd(unread, seen);
      if ((end < 0 ? unread.length : end + emptyLineBytes) > headBytesMax) {
        throw new MalformedMessage('The head of its answer is too large.', true);
      }
      if (end < 0) {
        this.#hold(unread, seen);
        return undefined;
      }
      const head = parseResponseHead(unread.toString('latin1', 0, end + 2), fieldsMax);
      this.rest = unread.subarray(end + emptyLineBytes);
      if (head.status >= 200 || (maySwitch && head.status === 101)) return head;
      // Without `maySwitch` nobody asked for an upgrade: the field is removed.
      if (head.status === 101) throw new MalformedMessage('It switched protocols unasked.');
      // Other interim heads are about the hop to us, or hints that a client can do without (RFC 9110, 15.2).
      if (++this.#interimHeads > interimMax)
        throw new MalformedMessage('There are too many interim answers.');
      unread = this.rest;
      seen = 0;
    }
  }

  /**
   * Keeps the beginning of a head. Throws where it is not one of HTTP/1.1. A server of another protocol may
   * be waiting for us now, and will not send what would end a head.
   */
  #hold(unread: Buffer, seen: number): void {
    if (!statusLineStart.startsWith(unread.toString('latin1', 0, statusLineStart.length))) {
      throw new MalformedMessage('It does not speak HTTP/1.1.');
    }
    if (hasBareLineFeed(unread, seen)) throw new MalformedMessage('A line does not end in CRLF.');
    this.#held.add(unread);
  }
}
