import { MessageFrames } from '../../grpc/message-frames.ts';
import type { ScrubbedBody } from './scrub.ts';
import { stillCoded } from './scrubbable.ts';

/** Hands a body on to be looked through. It throws where a message in the body says that it is compressed. */
export class EnvelopeCheck implements ScrubbedBody {
  readonly #body: ScrubbedBody;
  readonly #isText: boolean;
  readonly #frames = new MessageFrames();
  /** Characters of a group of base64 that is not finished. */
  #group = '';

  constructor(body: ScrubbedBody, { isText }: { readonly isText: boolean }) {
    this.#body = body;
    this.#isText = isText;
  }

  push(chunk: Buffer): Buffer {
    const messages = this.#isText ? this.#fromBase64(chunk) : chunk;
    for (let at = 0; at < messages.length; ) {
      at = this.#frames.partEnd(messages, at);
      if (this.#frames.isCompressed) throw stillCoded();
    }
    return this.#body.push(chunk);
  }

  end(): Buffer {
    return this.#body.end();
  }

  /**
   * Returns the bytes that whole groups of base64 stand for. Each piece that the server has written may be
   * padded by itself.
   */
  #fromBase64(chunk: Buffer): Buffer {
    const text = this.#group + chunk.toString('latin1').replace(/\s+/g, '');
    const end = text.length - (text.length % 4);
    this.#group = text.slice(end);
    const pieces = text.slice(0, end).split(/=+/);
    return Buffer.concat(pieces.map((it) => Buffer.from(it, 'base64')));
  }
}
