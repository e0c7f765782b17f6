import type { DecidedCall } from '../core/call.ts';
import type { Log } from '../core/log.ts';
import { codingsOf, isStreamable } from '../inspect/decode/packed/inflate.ts';
import type { Framing, LastWords, Splitter, StreamEvent } from './framing.ts';
import type { ResponseInspector } from './inspector.ts';
import { blocked } from './rules.ts';
import type { EventTap } from './tap.ts';

/** Tells whether a stream has no coding, or one that can be taken off as it comes. */
export function isDecodable(contentEncoding: string): boolean {
  const [coding, ...others] = codingsOf(contentEncoding);
  return others.length === 0 && (coding === undefined || isStreamable(coding));
}

interface StreamOptions {
  readonly call: DecidedCall;
  readonly log: Log;
  readonly framing: Framing;
  /** Content coding of the stream, which is a decodable one. */
  readonly contentEncoding: string;
  /** Tells whether content that is too long to be read does not come in. */
  readonly endsBeyond: boolean;
}

/** Lets those events of one stream in that the inspector admits. */
export class InspectedStream implements EventTap {
  readonly coding: string;
  readonly #inspector: ResponseInspector;
  readonly #options: StreamOptions;
  /** Reasons why an event did not come in. */
  #reasons: readonly string[] = [];

  constructor(inspector: ResponseInspector, options: StreamOptions) {
    this.#inspector = inspector;
    this.#options = options;
    [this.coding = ''] = codingsOf(options.contentEncoding);
  }

  splitter(): Splitter {
    return this.#options.framing.splitter();
  }

  async admit(event: StreamEvent): Promise<Buffer | undefined> {
    const { framing, endsBeyond, log, call } = this.#options;
    if (event.isCoded && endsBeyond) {
      this.#reasons = this.#inspector.refuseUnread();
      return undefined;
    }
    const piece = framing.pieceOf(event);
    if (!piece) return event.bytes;
    try {
      const { reasons, bytes } = await this.#inspector.inspect(piece);
      this.#reasons = reasons;
      if (reasons.length > 0) return undefined;
      return bytes === piece.bytes ? event.bytes : framing.join(event, bytes);
    } catch (error) {
      log.error({ trace_id: call.traceId, err: error }, 'an event could not be read');
      return undefined;
    }
  }

  get lastWords(): LastWords {
    const { framing, call } = this.#options;
    return framing.lastWords(blocked(this.#reasons), call.traceId);
  }

  /** Refuses the end of the stream behind its last event, for these reasons. */
  refuseEnd(reasons: readonly string[]): void {
    this.#reasons = reasons;
  }

  crowded(): void {
    this.#reasons = this.#inspector.refuseUnread();
  }

  broken(error: Error): void {
    const { log, call } = this.#options;
    log.error({ trace_id: call.traceId, err: error }, 'a stream is not what its content coding says');
    this.#reasons = this.#inspector.refuseUnread();
  }
}
