import { type GatewayError, problems } from '../../../core/errors.ts';
import { isGrpcType } from '../../grpc/grpc-type.ts';
import type { Answer } from '../../http1/answer.ts';
import { fieldOf } from '../../http1/headers.ts';
import type { HeaderNames } from '../decision-headers.ts';

type Listener = () => void;

/**
 * Writes the answer to a gRPC call. One that is cut off after its head ends with the status of a failed call.
 * A reset would tell the client's program nothing of the reason.
 */
export class GrpcAnswer implements Answer {
  readonly #answer: Answer;
  #isGrpc = false;
  #trailers: [string, string][] = statusFields(unavailable, 'The answer was cut off.');

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  get headersSent(): boolean {
    return this.#answer.headersSent;
  }

  get writableEnded(): boolean {
    return this.#answer.writableEnded;
  }

  get destroyed(): boolean {
    return this.#answer.destroyed;
  }

  get chunkedEncoding(): boolean {
    return this.#answer.chunkedEncoding;
  }

  /** Sets the trailers with which the answer ends where it is cut off. */
  failWith(trailers: [string, string][]): void {
    this.#trailers = trailers;
  }

  writeHead(status: number, fields: string[]): void {
    this.#answer.writeHead(status, fields);
    this.#isGrpc = isGrpcType(fieldOf(fields, 'content-type'));
  }

  flushHeaders(): void {
    this.#answer.flushHeaders();
  }

  write(chunk: Buffer): boolean {
    return this.#answer.write(chunk);
  }

  end(chunk?: Buffer): void {
    this.#answer.end(chunk);
  }

  addTrailers(trailers: [string, string][]): void {
    this.#answer.addTrailers(trailers);
  }

  /** Cuts the answer off: one of gRPC with the trailers of a failed call, any other one without an end. */
  destroy(): void {
    const answer = this.#answer;
    if (answer.writableEnded) return;
    if (this.#isGrpc && answer.chunkedEncoding && !answer.destroyed) {
      answer.addTrailers(this.#trailers);
      answer.end();
    } else answer.destroy();
  }

  on(event: 'drain', listener: Listener): void {
    this.#answer.on(event, listener);
  }

  off(event: 'drain', listener: Listener): void {
    this.#answer.off(event, listener);
  }

  once(event: 'close', listener: Listener): void {
    this.#answer.once(event, listener);
  }
}

const unavailable = 14;
const internal = 13;

/**
 * Status of gRPC by status of HTTP ("HTTP to gRPC Status Code Mapping"). Unlike there, 413 and 429 are
 * RESOURCE_EXHAUSTED.
 */
const codes: Readonly<Record<number, number>> = {
  401: 16,
  403: 7,
  404: 12,
  413: 8,
  429: 8,
  502: unavailable,
  503: unavailable,
  504: unavailable,
};

/**
 * Returns the trailers of a call that failed after it began. They hold reasons or the detail, neither of
 * which quotes content.
 */
export function failureFields(error: GatewayError, names: HeaderNames): [string, string][] {
  const { reason_codes: reasons } = error.extra;
  const message = reasons ? `${error.code}: ${reasons.join(', ')}` : error.message;
  const fields = statusFields(codes[problems[error.code].status] ?? internal, message);
  return reasons
    ? [...fields, [names.decision.toLowerCase(), 'DENY'], [names.reasons.toLowerCase(), reasons.join(',')]]
    : fields;
}

/** Returns the status of a call that failed before it began, with what the body of the problem would say. */
export function refusalStatus(error: GatewayError): [string, string][] {
  const { reason_codes: reasons = [], approval_id: approvalId } = error.extra;
  const why = [error.code, ...(reasons.length > 0 ? [reasons.join(', ')] : []), error.message].join(': ');
  const message = approvalId === undefined ? why : `${why} approval_id: ${approvalId}`;
  return statusFields(codes[problems[error.code].status] ?? internal, message);
}

/**
 * Returns the trailers that tell a status. The message is percent-encoded where it is not plain ASCII ("gRPC
 * over HTTP2", Status-Message). Half a surrogate pair, as rules may have in their names, is replaced.
 */
function statusFields(code: number, message: string): [string, string][] {
  const encoded = message.toWellFormed().replace(/[^ -$&-~]+/g, encodeURIComponent);
  return [
    ['grpc-status', String(code)],
    ['grpc-message', encoded],
  ];
}
