import type { IncomingMessage } from 'node:http';
import type { Claimed } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { parseUuid } from '../ids.ts';

/** What the proxies need of a request's head, read in one pass over the raw fields. */
export interface RequestHead {
  /** Flat [name, value, …] without the gateway's own and the proxy's fields: what is read and what is forwarded. */
  readonly headers: string[];
  readonly host: string | undefined;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** -1 where none is declared. */
  readonly contentLength: number;
  readonly hasBody: boolean;
  readonly proxyAuthorization: string | undefined;
  /** What the gateway's own headers say of the caller; undefined where there are none. */
  readonly claimed: Claimed | undefined;
}

const nameLengthMax = 128;
const runtimeTypeLengthMax = 64;
const contextLengthMax = 65_536;

/**
 * Reads the head. Throws where it is over the bound on fields, or where two fields contradict each other.
 * `ownPrefix` is the lower-case beginning of the gateway's own request headers: they are taken out here.
 */
export function readRequestHead(
  request: IncomingMessage,
  ownPrefix: string,
  maxHeaders: number,
): RequestHead {
  const raw = request.rawHeaders;
  if (raw.length > maxHeaders * 2) {
    throw new GatewayError('HEADERS_TOO_LARGE', `A request may have ${maxHeaders} header fields.`);
  }
  const headers: string[] = [];
  let own: Record<string, string> | undefined;
  let host: string | undefined;
  let contentType: string | undefined;
  let contentEncoding = '';
  let contentLength = -1;
  let isChunked = false;
  let proxyAuthorization: string | undefined;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const value = raw[i + 1] ?? '';
    const lower = name.toLowerCase();
    switch (lower) {
      case 'host':
        if (host !== undefined)
          throw new GatewayError('VALIDATION_FAILED', 'The request has two Host fields.');
        host = value;
        break;
      case 'content-type':
        if (contentType !== undefined)
          throw new GatewayError('VALIDATION_FAILED', 'The request has two Content-Type fields.');
        contentType = value;
        break;
      case 'content-encoding':
        contentEncoding = contentEncoding === '' ? value : `${contentEncoding}, ${value}`;
        break;
      case 'content-length':
        contentLength = Number(value);
        break;
      case 'transfer-encoding':
        isChunked = true;
        break;
      case 'proxy-authorization':
        if (proxyAuthorization !== undefined) {
          throw new GatewayError('VALIDATION_FAILED', 'The request has two Proxy-Authorization fields.');
        }
        proxyAuthorization = value;
        continue;
      case 'proxy-connection':
        continue;
      default:
        if (lower.startsWith(ownPrefix)) {
          own ??= {};
          own[lower.slice(ownPrefix.length)] = value;
          continue;
        }
    }
    headers.push(name, value);
  }
  return {
    headers,
    host,
    contentType: contentType ?? '',
    contentEncoding,
    contentLength,
    hasBody: isChunked || contentLength > 0,
    proxyAuthorization,
    claimed: own && claimedIn(own, ownPrefix),
  };
}

function claimedIn(own: Readonly<Record<string, string>>, ownPrefix: string): Claimed {
  const { 'agent-id': id, 'agent-name': agentName, 'runtime-type': runtimeType, context } = own;
  const agentId = id === undefined ? undefined : parseUuid(id);
  if (id !== undefined && agentId === undefined) {
    throw new GatewayError('VALIDATION_FAILED', `The header ${ownPrefix}agent-id must be a UUID.`);
  }
  return {
    ...(agentId === undefined ? {} : { agentId }),
    ...(agentName === undefined ? {} : { agentName: agentName.slice(0, nameLengthMax) }),
    ...(runtimeType === undefined ? {} : { runtimeType: runtimeType.slice(0, runtimeTypeLengthMax) }),
    ...(context === undefined ? {} : { context: context.slice(0, contextLengthMax) }),
  };
}
