import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';

export interface AcceptOptions {
  /** The context for the host of the tunnel. */
  readonly secureContext: SecureContext;
  /**
   * Protocols in the order of our preference. A client that offers only others is refused; one that offers
   * none is not.
   */
  readonly alpnProtocols: readonly string[];
  readonly timeoutMs: number;
}

/**
 * Does the server's part of a TLS handshake on the socket of a tunnel; bytes that were peeked at are
 * `unshift`ed before. Resolves once the handshake is done, with `servername` as the client sent it (false
 * where it sent none, and after each resumption in TLS 1.2). Rejects where the client fails, leaves or is too
 * slow, and has then destroyed the socket.
 *
 * The context is chosen by the host of the tunnel rather than by an `SNICallback` of one `tls.Server`.
 * Addresses have no SNI (RFC 6066, 3). Tickets belong to the context of the connection, before any SNI is
 * looked at. With one server, its ticket for host A resumes a session for host B. The callback is not asked
 * then, and the session goes on under A's certificate. Here each host has its own ticket keys, and such a
 * client gets a full handshake.
 */
export function acceptTls(socket: Socket, options: AcceptOptions): Promise<TLSSocket> {
  const secure = new TLSSocket(socket, {
    isServer: true,
    secureContext: options.secureContext,
    ALPNProtocols: toAlpn(options.alpnProtocols),
  });
  return new Promise((resolve, reject) => {
    const onSecure = (): void => {
      settle();
      // `tls.Server` sets this on its own sockets. Until it is set, Node's HTTP/2 waits for the handshake.
      Object.assign(secure, { secureConnecting: false });
      resolve(secure);
    };
    const onFailure = (cause?: Error): void => {
      settle();
      // A second error may follow while the socket closes; the first has been told.
      secure.on('error', () => {});
      secure.destroy();
      socket.destroy();
      reject(new Error('The TLS handshake with the client failed.', { cause }));
    };
    const onClose = (): void => onFailure(new Error('The client left.'));
    const timer = setTimeout(() => onFailure(new Error('The client was too slow.')), options.timeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      secure.off('secure', onSecure).off('error', onFailure).off('end', onClose).off('close', onClose);
    };
    // Connections of a listener may be half open: a client that ends its side here is told by nothing else.
    secure.on('secure', onSecure).on('error', onFailure).on('end', onClose).on('close', onClose);
  });
}

/** Returns protocols as the handshake has them: each name after its length, in one byte (RFC 7301, 3.1). */
const toAlpn = (protocols: readonly string[]): Buffer =>
  Buffer.concat(protocols.map((name) => Buffer.from(String.fromCharCode(name.length) + name, 'latin1')));
