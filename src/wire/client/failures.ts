import { GatewayError, toGatewayError } from '../../core/errors.ts';
import { MalformedMessage } from '../http1/head.ts';

/*
 * Failures towards an upstream, as the caller may see them. The detail tells the kind of failure, and never
 * repeats Node's message, which may quote addresses, certificates or content.
 */

/** Reasons why a certificate was refused, by OpenSSL's verification codes as node:tls names them. */
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

const codeOf = (error: unknown): string => {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : '';
};

/** The peer to which a connection is opened, as it stands in a sentence. */
export type PeerKind = 'upstream' | 'parent proxy';

/** Returns the failure of a connection that was being opened. Once TCP is open, all failures are of TLS. */
export function toConnectFailure(
  error: unknown,
  isTcpOpen: boolean,
  peer: PeerKind = 'upstream',
): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = codeOf(error);
  if (!isTcpOpen) {
    const what = connectFailures[code] ?? 'cannot be reached';
    return new GatewayError('UPSTREAM_UNREACHABLE', `The ${peer} ${what}.`, {}, error);
  }
  return toTlsFailure(certificateFailures[code] ?? handshakeFailure(code), error, peer);
}

/** Adds what to do where a parent that reads TLS was asked for an address, and made a certificate for that. */
export const withHint = (failure: GatewayError): GatewayError =>
  codeOf(failure.cause) === 'ERR_TLS_CERT_ALTNAME_INVALID'
    ? new GatewayError(
        'UPSTREAM_TLS',
        `${failure.message} A parent proxy that reads TLS needs \`upstream.proxy_resolves\`.`,
        {},
        failure.cause,
      )
    : failure;

const toTlsFailure = (why: string, error: unknown, peer: PeerKind = 'upstream'): GatewayError =>
  new GatewayError('UPSTREAM_TLS', `TLS with the ${peer} failed: ${why}.`, {}, error);

function handshakeFailure(code: string): string {
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'it closed the connection during the handshake';
  if (code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')
    return 'it wants a certificate, which agents can show only to hosts of `intercept.passthrough`';
  // ERR_SSL_WRONG_VERSION_NUMBER and its like: OpenSSL's reasons, a closed vocabulary.
  const reason = /^ERR_SSL_([A-Z0-9_]{1,64})$/.exec(code)?.[1];
  return reason === undefined ? 'the handshake failed' : reason.toLowerCase().replaceAll('_', ' ');
}

/**
 * Returns the failure of an exchange on a standing connection. `isAnswering` says that the answer's head was
 * read.
 */
export function toExchangeFailure(error: unknown, isAnswering: boolean): GatewayError {
  if (error instanceof MalformedStream) {
    return toProtocolFailure(`The upstream broke HTTP/2. ${error.message}`, error);
  }
  if (error instanceof MalformedMessage) {
    return toProtocolFailure(`The upstream broke HTTP/1.1. ${error.message}`, error);
  }
  if (isClosedByPeer(error)) {
    return isAnswering
      ? toProtocolFailure('The upstream closed the connection in the middle of its answer.', error)
      : new GatewayError(
          'UPSTREAM_UNREACHABLE',
          'The upstream closed the connection before it answered.',
          {},
          error,
        );
  }
  const code = codeOf(error);
  if (code.startsWith('ERR_HTTP2_')) {
    return toProtocolFailure('The upstream broke HTTP/2, or did not take the request.', error);
  }
  if (code.startsWith('ERR_SSL_')) return toTlsFailure(handshakeFailure(code), error);
  if (code in connectFailures) return toConnectFailure(error, false);
  return toGatewayError(error);
}

const toProtocolFailure = (detail: string, cause: unknown): GatewayError =>
  new GatewayError('UPSTREAM_PROTOCOL', detail, {}, cause);

/** Says why an answer breaks HTTP/2, and quotes nothing of it. */
export class MalformedStream extends Error {}

/** Says that a connection or stream closed, and names no other error. */
export class ConnectionEnded extends Error {}

/**
 * Tells whether the peer closed or reset the connection, which says nothing of what it made of the request.
 */
export function isClosedByPeer(error: unknown): boolean {
  const code = codeOf(error);
  return error instanceof ConnectionEnded || code === 'ECONNRESET' || code === 'EPIPE';
}

export const shuttingDown = (): GatewayError =>
  new GatewayError('SHUTTING_DOWN', 'The gateway is shutting down.');

export const timedOut = (what: string): GatewayError =>
  new GatewayError('UPSTREAM_TIMEOUT', `The upstream ${what}.`);

/** Tells whether the upstream speaks TLS and not the protocol that was offered (RFC 7301, 3.2). */
export const isProtocolRefused = (error: GatewayError): boolean =>
  codeOf(error.cause) === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL';
