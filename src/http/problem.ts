import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type GatewayError, problems, toProblem } from '../errors.ts';

/**
 * Answers with a problem (RFC 9457) and `Proxy-Status` (RFC 9209); `headers` stand beside it. When the head is already on its
 * way, the connection is closed instead: a cut answer must not look whole. What was not read of the request's body is not
 * read any more: then the connection ends with the answer.
 */
export function answerProblem(
  request: IncomingMessage,
  response: ServerResponse,
  error: GatewayError,
  headers: readonly string[],
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const { status } = problems[error.code];
  const { fields, body } = problemMessage(error);
  const head = [...headers, ...fields];
  if (isBodyUnread(request)) {
    head.push('Connection', 'close');
    response.once('finish', () => request.destroy());
  }
  response.writeHead(status, head);
  response.end(body);
}

/** While a handler runs, even a request without a body is not `complete` yet. */
const isBodyUnread = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/** The body of a problem and the fields that go with it, flat. */
export function problemMessage(error: GatewayError): { fields: string[]; body: Buffer } {
  const { proxyStatus } = problems[error.code];
  const body = Buffer.from(`${JSON.stringify(toProblem(error))}\n`);
  const fields = ['Content-Type', 'application/problem+json', 'Content-Length', String(body.length)];
  fields.push('Cache-Control', 'no-store', 'Proxy-Status', `postern; error=${proxyStatus}`);
  if (error.code === 'PROXY_AUTH_REQUIRED') fields.push('Proxy-Authenticate', 'Basic realm="postern"');
  if (error.code === 'INVALID_KEY') fields.push('WWW-Authenticate', 'Bearer');
  if (error.extra.retryAfterSeconds !== undefined)
    fields.push('Retry-After', String(error.extra.retryAfterSeconds));
  return { fields, body };
}

/** A whole answer as bytes, for sockets on which no server speaks HTTP any more. The connection ends with it. */
export function rawProblem(error: GatewayError): string {
  const { status } = problems[error.code];
  const { fields, body } = problemMessage(error);
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return `${head}Connection: close\r\n\r\n${body.toString()}`;
}
