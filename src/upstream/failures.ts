import { errors } from 'undici';
import { GatewayError } from '../errors.ts';

/*
 * What can go wrong towards an upstream, as the caller may see it. The detail says which kind of failure it was; it never
 * repeats the library's message, which may quote addresses, certificates or content.
 */

/** Why a certificate was refused: OpenSSL's verification codes as node:tls names them. */
const certificateFailures: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_REVOKED: 'its certificate is revoked',
  CERT_UNTRUSTED: 'its certificate is not trusted',
  CERT_REJECTED: 'its certificate is rejected',
  CERT_SIGNATURE_FAILURE: 'the signature of its certificate is wrong',
  CERT_CHAIN_TOO_LONG: 'its certificate chain is too long',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate chain ends in an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'the issuer of its certificate is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the issuer of its certificate is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the issuer of its certificate is unknown',
  INVALID_CA: 'its certificate is issued by a certificate that is no authority',
  INVALID_PURPOSE: 'its certificate is not meant for servers',
  PATH_LENGTH_EXCEEDED: 'its certificate chain is too long',
  HOSTNAME_MISMATCH: 'its certificate is for another host name',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
  CA_MD_TOO_WEAK: 'its certificate is signed with a weak hash',
  CA_KEY_TOO_SMALL: 'its certificate authority has a weak key',
  EE_KEY_TOO_SMALL: 'its certificate has a weak key',
};

const connectFailures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  EHOSTUNREACH: 'has no route',
  ENETUNREACH: 'has no route',
  ETIMEDOUT: 'did not accept the connection',
};

const protocolFailures: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_OVERFLOW: 'sent a response head that is too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'sent a body of another length than it declared',
  ERR_INVALID_CHAR: 'sent a header with forbidden characters',
  ERR_INVALID_HTTP_TOKEN: 'sent a header with a forbidden name',
  ERR_HTTP_INVALID_STATUS_CODE: 'sent an invalid status',
};

export const codeOf = (error: unknown): string => {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : '';
};

/** A failure before the connection stood; after TCP, everything that goes wrong is a failure of TLS. */
export function toConnectFailure(error: unknown, isTcpOpen: boolean): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = codeOf(error);
  if (!isTcpOpen) {
    const what = connectFailures[code] ?? 'cannot be reached';
    return new GatewayError('UPSTREAM_UNREACHABLE', `The upstream ${what}.`, {}, error);
  }
  return toTlsFailure(certificateFailures[code] ?? handshakeFailure(code), error);
}

const toTlsFailure = (why: string, error: unknown): GatewayError =>
  new GatewayError('UPSTREAM_TLS', `TLS with the upstream failed: ${why}.`, {}, error);

function handshakeFailure(code: string): string {
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'it closed the connection during the handshake';
  // ERR_SSL_WRONG_VERSION_NUMBER and its like: OpenSSL's reasons, a closed vocabulary.
  const reason = /^ERR_SSL_([A-Z0-9_]{1,64})$/.exec(code)?.[1];
  return reason === undefined ? 'the handshake failed' : reason.toLowerCase().replaceAll('_', ' ');
}

/** A failure of an exchange on a standing connection, or what the connector said already. */
export function toExchangeFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = codeOf(error);
  const broken = isRefusedByClient(error)
    ? 'switched protocols or sent an unexpected response'
    : protocolFailures[code];
  if (broken !== undefined || error instanceof errors.HTTPParserError) {
    return new GatewayError('UPSTREAM_PROTOCOL', `The upstream ${broken ?? 'broke HTTP/1.1'}.`, {}, error);
  }
  if (isClosedByPeer(error)) {
    return new GatewayError(
      'UPSTREAM_UNREACHABLE',
      'The upstream closed the connection before it answered.',
      {},
      error,
    );
  }
  if (code.startsWith('ERR_SSL_')) return toTlsFailure(handshakeFailure(code), error);
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED') {
    const message = 'The method, the path or a header has characters that cannot be sent.';
    return new GatewayError('VALIDATION_FAILED', message, {}, error);
  }
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') {
    return new GatewayError('SHUTTING_DOWN', 'The gateway is shutting down.', {}, error);
  }
  if (code in connectFailures) return toConnectFailure(error, false);
  return new GatewayError('INTERNAL', 'The gateway failed; its log says why.', {}, error);
}

/** undici reports a 101 and a 100 that nobody asked for with the same code as a closed connection. */
const isRefusedByClient = (error: unknown): boolean =>
  codeOf(error) === 'UND_ERR_SOCKET' && /^bad (?:upgrade|response)$/.test((error as Error).message);

/** The peer closed or reset the connection, which says nothing of what it made of the request. */
export function isClosedByPeer(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === 'ECONNRESET' || code === 'EPIPE' || (code === 'UND_ERR_SOCKET' && !isRefusedByClient(error))
  );
}
