import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Check, check } from './check.ts';

/* Tries ways past the proxy. Where the doctor gets out, any program of this machine does. */

/** Addresses outside that answer everybody. */
export interface OutsideAddresses {
  /** `host:port` over IPv4, for TCP and QUIC. */
  readonly ipv4: string;
  readonly ipv6: string;
  /** `address:port` of a name server. */
  readonly dns: string;
}

export const usualOutside: OutsideAddresses = {
  ipv4: '1.1.1.1:443',
  ipv6: '[2606:4700:4700::1111]:443',
  dns: '1.1.1.1:53',
};

const timeoutMs = 3_000;
const setting = 'docs/deploy: a network that lets agents reach the gateway alone';

/** Tries each address, and also the name server of the machine unless another one is named. */
export async function tryWaysOut({ ipv4, ipv6, dns }: OutsideAddresses): Promise<readonly Check[]> {
  const isUsual = dns === usualOutside.dns;
  const [tcp, tcp6, names, ofSystem, quic] = await Promise.all([
    connects(ipv4),
    connects(ipv6),
    resolves([dns]),
    isUsual && resolves(undefined),
    answersQuic(ipv4),
  ]);
  const way = (name: string, isOut: boolean, target: string): Check =>
    check(name, !isOut, `${target} ${isOut ? 'answers' : 'cannot be reached'}`, setting);
  return [
    way('direct connection', tcp, ipv4),
    way('IPv6', tcp6, ipv6),
    way('DNS', names, dns),
    ...(isUsual ? [way('DNS of the system', ofSystem, 'the name server of this machine')] : []),
    way('QUIC', quic, `UDP ${ipv4}`),
  ];
}

function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}

function connects(address: string): Promise<boolean> {
  const socket = connect(splitAddress(address));
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const settle = (isOut: boolean): void => {
    socket.destroy();
    resolve(isOut);
  };
  socket.setTimeout(timeoutMs, () => settle(false));
  socket.once('connect', () => settle(true)).on('error', () => settle(false));
  return promise;
}

/** Tells whether a name server answers. Any answer is a way out, "there is no such name" as well. */
async function resolves(servers: readonly string[] | undefined): Promise<boolean> {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  try {
    if (servers) resolver.setServers(servers);
    await resolver.resolve4('example.com');
    return true;
  } catch (error) {
    return ['ENOTFOUND', 'ENODATA', 'EREFUSED', 'ESERVFAIL'].includes(
      (error as NodeJS.ErrnoException).code ?? '',
    );
  }
}

const initialBytes = 1_200;

/** Tells whether a QUIC server answers a long header of an unknown version, as each does (RFC 9000, 6). */
async function answersQuic(address: string): Promise<boolean> {
  const { host, port } = splitAddress(address);
  const socket = createSocket('udp4');
  try {
    const packet = Buffer.alloc(initialBytes);
    Buffer.from('c01a2a3a4a08000102030405060708', 'hex').copy(packet);
    const signal = AbortSignal.timeout(timeoutMs);
    const answered = once(socket, 'message', { signal });
    socket.send(packet, port, host, (error) => error && socket.emit('error', error));
    await answered;
    return true;
  } catch {
    return false;
  } finally {
    socket.close();
  }
}
