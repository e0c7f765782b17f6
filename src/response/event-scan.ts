import type { InboundRoute } from '../config/schema.ts';
import type { Call } from '../core/call.ts';
import type { Gate } from '../decision/gate.ts';
import { codingsOf, isStreamable } from '../inspect/decode/packed/inflate.ts';
import { prefixBytes } from '../wire/grpc/grpc-prefix.ts';
import { isGrpcType } from '../wire/grpc/grpc-type.ts';
import { blocked } from './answer-rules.ts';
import { EventSplitter, type Splitter, type StreamEvent } from './event-splitter.ts';
import { failureFields } from './grpc-answer.ts';
import { frameOf } from './grpc-messages.ts';
import { GrpcSplitter } from './grpc-splitter.ts';
import { MessageScan } from './message-scan.ts';
import type { EventTap, LastWords } from './tapped-answer.ts';

/** Tells whether a stream has no coding, or one that can be taken off as it comes. */
export function isDecodable(contentEncoding: string): boolean {
  const [coding, ...others] = codingsOf(contentEncoding);
  return others.length === 0 && (coding === undefined || isStreamable(coding));
}

/** The facts that the head of a stream tells of its events. */
export interface EventHead {
  /** The limit of one event; a longer one is read in parts. */
  readonly bytesMax: number;
  /** Content that is too long to be read does not come in. */
  readonly endsBeyond: boolean;
  readonly contentType: string;
  /** One that is decodable. */
  readonly contentEncoding: string;
  readonly grpcEncoding: string;
  /** Parts must stay as they are, or nobody could put them together. */
  readonly isPartial: boolean;
}

/** Nothing to read. */
const hasLineEndsAlone = (bytes: Buffer): boolean => bytes.every((it) => it === 0x0a || it === 0x0d);

/** A coding that nobody knows. */
const unsaid = 'unsaid';

/** Says of each event of one stream, or each message of gRPC, what of it comes in. */
export class EventScan implements EventTap {
  readonly coding: string;
  readonly #gate: Gate;
  readonly #call: Call;
  readonly #head: EventHead;
  readonly #isGrpc: boolean;
  readonly #messages: MessageScan;
  /** Why an event did not come in. */
  #reasons: readonly string[] = [];

  constructor(gate: Gate, call: Call, route: InboundRoute | undefined, head: EventHead) {
    this.#gate = gate;
    this.#call = call;
    this.#head = head;
    this.#isGrpc = isGrpcType(head.contentType);
    this.#messages = new MessageScan(() => gate, call, route);
    [this.coding = ''] = codingsOf(head.contentEncoding);
  }

  splitter(): Splitter {
    const { bytesMax } = this.#head;
    return this.#isGrpc
      ? new GrpcSplitter(bytesMax)
      : new EventSplitter({ bytesMax, endsWith: this.#endsWith });
  }

  get #endsWith(): 'empty line' | 'line' {
    return /^text\/event-stream\b/i.test(this.#head.contentType) ? 'empty line' : 'line';
  }

  async admit({ bytes, isPart, isCoded = false }: StreamEvent): Promise<Buffer | undefined> {
    if (!this.#isGrpc && hasLineEndsAlone(bytes)) return bytes;
    const { contentType, isPartial, endsBeyond } = this.#head;
    if (isCoded && endsBeyond) {
      this.#tellUnreadable();
      return undefined;
    }
    const isMessage = this.#isGrpc && !isPart;
    const message = isMessage ? bytes.subarray(prefixBytes) : bytes;
    try {
      const admission = await this.#messages.read({
        bytes: message,
        contentType,
        contentEncoding: isMessage && bytes[0] === 1 ? this.#messageCoding : '',
        isPart,
        isFixed: isPartial || (this.#isGrpc && isPart),
      });
      this.#reasons = admission.reasons;
      if (admission.reasons.length > 0) return undefined;
      if (admission.bytes === message) return bytes;
      return isMessage ? frameOf(admission.bytes) : admission.bytes;
    } catch (error) {
      this.#gate.log.error({ trace_id: this.#call.traceId, err: error }, 'an event could not be read');
      return undefined;
    }
  }

  /** The coding of gRPC messages that say that they have one. */
  get #messageCoding(): string {
    const { grpcEncoding } = this.#head;
    return codingsOf(grpcEncoding).length > 0 ? grpcEncoding : unsaid;
  }

  /** The error in the form that clients of server-sent events or gRPC understand. */
  get lastWords(): LastWords {
    const error = blocked(this.#reasons);
    if (this.#isGrpc) return { trailers: failureFields(error, this.#gate.names) };
    const { code, message } = error;
    const told = JSON.stringify({ code, reason: code, detail: message, trace_id: this.#call.traceId });
    const event = this.#endsWith === 'line' ? `${told}\n` : `event: error\ndata: ${told}\n\n`;
    return { event: Buffer.from(event) };
  }

  /** Refuses the end of the stream behind its last event, for these reasons. */
  refuseEnd(reasons: readonly string[]): void {
    this.#reasons = reasons;
  }

  broken(error: Error): void {
    const { traceId } = this.#call;
    this.#gate.log.error({ trace_id: traceId, err: error }, 'a stream is not what its content coding says');
    this.#tellUnreadable();
  }

  #tellUnreadable(): void {
    const { identity, traceId } = this.#call;
    this.#reasons = ['RESPONSE_BLOCKED', 'UNREADABLE'];
    if (!identity) return;
    const scan = { at: new Date().toISOString(), blocked: this.#reasons };
    this.#gate.answers.take(identity.tenantId, traceId, JSON.stringify(scan));
  }
}
