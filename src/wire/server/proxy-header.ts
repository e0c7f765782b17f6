import { isIP } from 'node:net';

/*
 * The header of the PROXY protocol, versions 1 and 2, by which a load balancer says before anything else
 * where a connection comes from (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt). It is read
 * strictly. The bytes after it are whatever the client sends. None of those may be read as a part of the
 * header, and no part of the header as the client's.
 */

/** A whole header, which takes up the first `length` bytes. */
export interface ProxyHeader {
  readonly length: number;
  /**
   * Address of the client. Undefined where the header tells none, as for checks of the load balancer's own:
   * then the peer is the client.
   */
  readonly address: string | undefined;
}

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const fixedBytes = 16;
const textStart = Buffer.from('PROXY ', 'latin1');
/** Length of the longest header of version 1, with its CRLF (2.1). */
const textBytesMax = 107;
/**
 * Limit of a header of version 2 with all that follows the addresses (2.2). Client certificates are the
 * largest part.
 */
export const proxyHeaderBytesMax = 16_384;

/**
 * Returns the header at the beginning of a connection, or `undefined` while more of it must come. Returns
 * `malformed` as soon as the bytes cannot be a header, whatever would come.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'malformed' | undefined {
  if (beginsAs(bytes, signature)) return bytes.length < fixedBytes ? undefined : readBinary(bytes);
  if (beginsAs(bytes, textStart)) return readText(bytes);
  return 'malformed';
}

/** Tells whether bytes begin as `start` does, as far as there are bytes. */
function beginsAs(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

const portText = '(?:0|[1-9][0-9]{0,4})';
const textLine = new RegExp(
  `^PROXY (TCP[46]) ([0-9a-fA-F:.]+) ([0-9a-fA-F:.]+) (${portText}) (${portText})$`,
);
const unknownLine = /^PROXY UNKNOWN(?: [\x20-\x7e]*)?$/;
const portMax = 65_535;

function readText(bytes: Buffer): ProxyHeader | 'malformed' | undefined {
  const end = bytes.subarray(0, textBytesMax).indexOf('\r\n', 0, 'latin1');
  if (end < 0) return bytes.length < textBytesMax ? undefined : 'malformed';
  const line = bytes.toString('latin1', 0, end);
  const length = end + 2;
  if (unknownLine.test(line)) return { length, address: undefined };
  const [, protocol, from = '', to = '', fromPort, toPort] = textLine.exec(line) ?? [];
  const version = protocol === 'TCP4' ? 4 : 6;
  const isRight = isIP(from) === version && isIP(to) === version;
  if (!isRight || Number(fromPort) > portMax || Number(toPort) > portMax) return 'malformed';
  return { length, address: from.toLowerCase() };
}

const local = 0;
const proxied = 1;
/** Bytes that both addresses with their ports take up, by family, which is the upper half of `bytes[13]`. */
const addressBytes: readonly (number | undefined)[] = [0, 12, 36, 216];
const [ipv4, ipv6] = [1, 2];
/** Number of known transports: unspecified, stream, datagram. */
const transports = 3;

function readBinary(bytes: Buffer): ProxyHeader | 'malformed' | undefined {
  const version = (bytes[12] as number) >>> 4;
  const command = (bytes[12] as number) & 15;
  const family = (bytes[13] as number) >>> 4;
  const transport = (bytes[13] as number) & 15;
  const restBytes = bytes.readUInt16BE(14);
  const length = fixedBytes + restBytes;
  const needed = addressBytes[family];
  if (version !== 2 || command > proxied || needed === undefined || transport >= transports)
    return 'malformed';
  if (length > proxyHeaderBytesMax) return 'malformed';
  // A LOCAL command says nothing of addresses, so neither the addresses nor their size count.
  if (command === proxied && restBytes < needed) return 'malformed';
  if (bytes.length < length) return undefined;
  const isTold = command !== local && transport !== 0;
  if (isTold && family === ipv4) return { length, address: bytes.subarray(16, 20).join('.') };
  if (isTold && family === ipv6) return { length, address: ipv6Text(bytes.subarray(16, 32)) };
  return { length, address: undefined };
}

/** Returns an address in its shortest form (RFC 5952), in which sockets tell theirs, too. */
function ipv6Text(bytes: Buffer): string {
  const words = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return new URL(`http://[${words.join(':')}]`).hostname.slice(1, -1);
}
