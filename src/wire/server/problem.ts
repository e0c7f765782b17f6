import { type GatewayError, problems, toProblem } from '../../core/errors.ts';
import { STATUS_CODES } from '../../util/plain-http.ts';
import { isGrpcType } from '../grpc/grpc-type.ts';
import { fieldOf } from '../http1/field.ts';
import type { Exchange } from './exchange.ts';
import { refusalStatus } from './grpc/answer.ts';

const noBody = Buffer.alloc(0);

/**
 * Answers with a problem (RFC 9457), with `Proxy-Status` (RFC 9209) and with `headers`. When the head is
 * already on its way, the connection is closed instead: a cut answer must not look whole. Clients of gRPC read
 * no body of a failure, so they get its status ("gRPC over HTTP2", Trailers-Only).
 */
export function answerProblem(exchange: Exchange, error: GatewayError, headers: readonly string[]): void {
  const { answer } = exchange;
  if (answer.headersSent || answer.destroyed) {
    answer.destroy();
    return;
  }
  if (isGrpcCall(exchange)) {
    exchange.refuse(
      200,
      ['Content-Type', 'application/grpc', ...headers, ...refusalStatus(error).flat()],
      noBody,
    );
    return;
  }
  const { fields, body } = problemMessage(error);
  exchange.refuse(problems[error.code].status, [...headers, ...fields], body);
}

/** Tells whether a request is a call of gRPC, which is a POST. To whoever sends any other one, 200 is a success. */
const isGrpcCall = ({ stream, method, fields }: Exchange): boolean =>
  stream !== undefined && method === 'POST' && isGrpcType(fieldOf(fields, 'content-type'));

/** Returns the body of a problem and the fields that go with it, flat. */
function problemMessage(error: GatewayError): { fields: string[]; body: Buffer } {
  const { proxyStatus } = problems[error.code];
  const body = Buffer.from(`${JSON.stringify(toProblem(error))}\n`);
  const fields = ['Content-Type', 'application/problem+json', 'Content-Length', String(body.length)];
  fields.push('Cache-Control', 'no-store', 'Proxy-Status', `postern; error=${proxyStatus}`);
  if (error.code === 'PROXY_AUTH_REQUIRED') fields.push('Proxy-Authenticate', 'Basic realm="postern"');
  if (error.code === 'INVALID_KEY') fields.push('WWW-Authenticate', 'Bearer');
  if (error.extra.allow !== undefined) fields.push('Allow', error.extra.allow);
  if (error.extra.retryAfterSeconds !== undefined)
    fields.push('Retry-After', String(error.extra.retryAfterSeconds));
  return { fields, body };
}

/**
 * Returns a whole answer as text, for sockets on which no server speaks HTTP any more. `headers` are added to
 * the fields of the problem. The connection ends with this answer.
 */
export function rawProblem(error: GatewayError, headers: readonly string[] = []): string {
  const { status } = problems[error.code];
  const { fields, body } = problemMessage(error);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${toLines([...headers, ...fields])}`;
  return `${head}Connection: close\r\n\r\n${body.toString()}`;
}

/** Returns flat fields as the lines of a head. */
export function toLines(fields: readonly string[]): string {
  let lines = '';
  for (let i = 0; i + 1 < fields.length; i += 2) lines += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return lines;
}
