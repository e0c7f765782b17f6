import type { Claimed } from '../core/call.ts';
import { GatewayError } from '../core/errors.ts';
import { parseUuid } from '../core/ids.ts';
import { saysAwsChunked } from '../wire/http1/aws-chunked.ts';
import { withoutNamedFields } from '../wire/http1/headers.ts';
import { hasItem } from '../wire/websocket/handshake.ts';

/** The facts that the proxies need of a request's head, read in one pass over the raw fields. */
export interface RequestHead {
  /** Flat [name, value, …] without the gateway's and the proxy's fields, to be read and forwarded. */
  readonly headers: readonly string[];
  readonly host: string | undefined;
  readonly contentType: string;
  readonly contentEncoding: string;
  readonly proxyAuthorization: string | undefined;
  /** Claims about the caller in the gateway's own headers; undefined where there are none. */
  readonly claimed: Claimed | undefined;
  /** Tells whether the request asks to go on in WebSocket (RFC 9110, 7.8), rightly or not. */
  readonly wantsWebSocket: boolean;
}

const nameLengthMax = 128;
const runtimeTypeLengthMax = 64;
const contextLengthMax = 65_536;

/**
 * Reads the head. Throws where there are more than `maxHeaders` fields, or where two contradict each other.
 * `ownPrefix` is the lower-case beginning of the gateway's own request headers, which are removed here.
 */
export function readRequestHead(
  fields: readonly string[],
  ownPrefix: string,
  maxHeaders: number,
): RequestHead {
  if (fields.length > maxHeaders * 2) {
    throw new GatewayError('HEADERS_TOO_LARGE', `A request may have ${maxHeaders} header fields.`);
  }
  const headers: string[] = [];
  let own: Record<string, string> | undefined;
  let host: string | undefined;
  let contentType: string | undefined;
  let contentEncoding = '';
  let proxyAuthorization: string | undefined;
  let connection = '';
  let upgrade = '';
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    if (isOwn(name, ownPrefix)) {
      own ??= {};
      own[name.slice(ownPrefix.length).toLowerCase()] = value;
      continue;
    }
    switch (name.toLowerCase()) {
      case 'host':
        if (host !== undefined) throw doubled('Host');
        host = value;
        break;
      case 'content-type':
        if (contentType !== undefined) throw doubled('Content-Type');
        contentType = value;
        break;
      case 'content-encoding':
        contentEncoding = withCoding(contentEncoding, value);
        break;
      case 'x-amz-content-sha256':
        // S3 takes the chunks off whether or not Content-Encoding says that there are some.
        if (saysAwsChunked(value)) contentEncoding = withCoding(contentEncoding, 'aws-chunked');
        break;
      case 'proxy-authorization':
        if (proxyAuthorization !== undefined) throw doubled('Proxy-Authorization');
        proxyAuthorization = value;
        continue;
      case 'proxy-connection':
        continue;
      case 'upgrade':
        upgrade += `,${value}`;
        break;
      case 'connection':
        connection += connection === '' ? value : `,${value}`;
        break;
    }
    headers.push(name, value);
  }
  const kept = connection === '' ? fields : withoutNamedFields(fields, connection);
  const wantsWebSocket = upgrade !== '' && hasItem(upgrade, 'websocket') && hasItem(connection, 'upgrade');
  if (kept.length < fields.length) return { ...readRequestHead(kept, ownPrefix, maxHeaders), wantsWebSocket };
  const claimed = own && claimedIn(own, ownPrefix);
  return {
    ...{ headers, host, contentType: contentType ?? '', contentEncoding, proxyAuthorization, claimed },
    wantsWebSocket,
  };
}

const withCoding = (codings: string, coding: string): string =>
  codings === '' ? coding : `${codings}, ${coding}`;

const isOwn = (name: string, ownPrefix: string): boolean =>
  name.length >= ownPrefix.length &&
  (name.charCodeAt(0) | 0x20) === ownPrefix.charCodeAt(0) &&
  name.slice(0, ownPrefix.length).toLowerCase() === ownPrefix;

const doubled = (name: string): GatewayError =>
  new GatewayError('VALIDATION_FAILED', `The request has two ${name} fields.`);

/** Copies a text, so that it does not keep its head in memory: claims are kept longer than the call. */
const detached = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

function claimedIn(own: Readonly<Record<string, string>>, ownPrefix: string): Claimed {
  const { 'agent-id': id, 'agent-name': agentName, 'runtime-type': runtimeType, context } = own;
  const agentId = id === undefined ? undefined : parseUuid(detached(id));
  if (id !== undefined && agentId === undefined) {
    throw new GatewayError('VALIDATION_FAILED', `The header ${ownPrefix}agent-id must be a UUID.`);
  }
  return {
    ...(agentId === undefined ? {} : { agentId }),
    ...(agentName === undefined ? {} : { agentName: detached(agentName.slice(0, nameLengthMax)) }),
    ...(runtimeType === undefined
      ? {}
      : { runtimeType: detached(runtimeType.slice(0, runtimeTypeLengthMax)) }),
    ...(context === undefined ? {} : { context: context.slice(0, contextLengthMax) }),
  };
}
