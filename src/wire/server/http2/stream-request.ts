import { GatewayError } from '../../../core/errors.ts';
import { withoutRawBytes } from '../../http1/head.ts';
import {
  headTooLarge,
  knownMethods,
  nestedTunnel,
  unknownMethod,
  unmetExpectation,
} from '../request-problems.ts';

/** The head of a request on a stream of HTTP/2, in the form that one of HTTP/1.1 has. */
export interface StreamRequest {
  readonly method: string;
  readonly target: string;
  /** Flat [name, value, …]. The Host among them says what `:authority` says. */
  readonly fields: readonly string[];
  /** Declared length of the body in bytes; -1 where none is declared. */
  readonly contentLength: number;
  readonly expectsContinue: boolean;
  /**
   * Tells whether it is an extended CONNECT for WebSocket (RFC 8441). It is shown as in HTTP/1.1: a GET that
   * asks to upgrade.
   */
  readonly isConnect: boolean;
}

/** Scheme and bounds that the head of a stream is held to. */
interface StreamRequestOptions {
  /** Scheme of the connection; `:scheme` may name no other one. */
  readonly scheme: string;
  readonly fieldsMax: number;
  readonly bytesMax: number;
}

/** Bytes that a field counts beside its name and its value (RFC 9113, 10.5.1). */
const fieldOverheadBytes = 32;
const cookieSeparator = '; ';

/**
 * Reads the flat head of a stream (RFC 9113, 8.3.1), whose well-formedness as HTTP/2 was checked before.
 * Throws VALIDATION_FAILED where `:authority` and Host disagree, the method is unknown, a tunnel is asked
 * for, or the path has control characters or spaces. Throws MISDIRECTED_REQUEST for another scheme, EXPECTATION_FAILED,
 * and HEADERS_TOO_LARGE.
 */
export function readStreamRequest(
  raw: readonly string[],
  { scheme, fieldsMax, bytesMax }: StreamRequestOptions,
): StreamRequest {
  const pseudo: Record<string, string> = Object.create(null);
  const fields: string[] = [];
  const cookies: string[] = [];
  let bytes = 0;
  let contentLength = -1;
  let expected = '';
  let host: string | undefined;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    bytes += name.length + value.length + fieldOverheadBytes;
    if (name.startsWith(':')) pseudo[name] = value;
    else if (name === 'cookie') cookies.push(value);
    else {
      if (name === 'content-length') contentLength = Number(value);
      if (name === 'expect') expected += value.toLowerCase();
      if (name === 'host') host = value;
      fields.push(name, value);
    }
  }
  if (raw.length > 2 * fieldsMax || bytes > bytesMax) throw headTooLarge();
  const { ':method': method = '', ':path': sent = '', ':authority': authority, ':scheme': said } = pseudo;
  const target = withoutRawBytes(sent);
  const isConnect = method === 'CONNECT' && pseudo[':protocol']?.toLowerCase() === 'websocket';
  if (method === 'CONNECT' && !isConnect) throw nestedTunnel();
  if (!knownMethods.has(method)) throw unknownMethod();
  if (said !== scheme) {
    throw new GatewayError('MISDIRECTED_REQUEST', `This connection carries requests for ${scheme} URLs.`);
  }
  if (authority !== undefined && host !== undefined && authority !== host) throw contradiction();
  if (!visible.test(target)) throw oddPath();
  if (authority !== undefined && host === undefined) fields.push('host', authority);
  // The parts of a cookie are one field for whoever does not speak HTTP/2 (RFC 9113, 8.2.3).
  if (cookies.length > 0) fields.push('cookie', cookies.join(cookieSeparator));
  if (expected !== '' && expected !== '100-continue') throw unmetExpectation();
  if (isConnect) fields.push('connection', 'Upgrade', 'upgrade', 'websocket');
  return {
    ...{ method: isConnect ? 'GET' : method, target, fields, contentLength, isConnect },
    expectsContinue: expected !== '',
  };
}

/** Matches visible ASCII, as in a request line of HTTP/1.1. */
const visible = /^[!-~]+$/;

const oddPath = (): GatewayError =>
  new GatewayError('VALIDATION_FAILED', 'The path has characters that no URL has; percent-encode them.');

const contradiction = (): GatewayError =>
  new GatewayError(
    'VALIDATION_FAILED',
    'The request names one authority in :authority and another one in Host.',
  );
