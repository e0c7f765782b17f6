/*
 * Reads the server name from a client's first bytes without doing TLS. A hello may be cut into records and
 * segments anywhere (RFC 8446, 5.1), so it is read when it is whole. An ambiguous one is refused.
 */

/**
 * The first words of a client. `serverName` is as the client wrote it, '' where it named none (RFC 6066, 3).
 */
type FirstWords =
  | { readonly kind: 'tls'; readonly serverName: string }
  /** Bytes that are not TLS. */
  | { readonly kind: 'other' }
  /** Bytes of TLS that are no hello, or none that is clear. */
  | { readonly kind: 'malformed' };

/**
 * Bytes of a hello's records with their headers. The largest keys and tickets in use make some five thousand.
 */
export const helloBytesMax = 16_384;

const other: FirstWords = { kind: 'other' };
const malformed: FirstWords = { kind: 'malformed' };

const handshakeRecord = 0x16;
/** Types of records: change cipher spec, alert, handshake, application data, heartbeat. */
const [firstRecordType, lastRecordType] = [0x14, 0x18];
const majorVersion = 3;
const recordHeaderBytes = 5;
const recordBytesMax = 16_384;
const clientHello = 1;
const helloHeaderBytes = 4;

/**
 * Returns what a client says first, or undefined while more must come to tell; never for `helloBytesMax`
 * bytes or more.
 */
export function readFirstWords(bytes: Buffer): FirstWords | undefined {
  const [type, major] = bytes;
  if (type === undefined) return undefined;
  if (type < firstRecordType || type > lastRecordType) return other;
  if (major === undefined) return undefined;
  if (major !== majorVersion) return other;
  // Nothing may stand before the hello, since some servers pass over it.
  if (type !== handshakeRecord) return malformed;
  const hello = gatherHello(bytes);
  if (hello === undefined) return bytes.length < helloBytesMax ? undefined : malformed;
  return hello === 'malformed' ? malformed : readHello(hello);
}

/**
 * Returns the content of the first handshake message, out of as many records as it takes; undefined while
 * more must come.
 */
function gatherHello(bytes: Buffer): Buffer | 'malformed' | undefined {
  const fragments: Buffer[] = [];
  let length = 0;
  for (let at = 0; at + recordHeaderBytes <= bytes.length; ) {
    const recordBytes = bytes.readUInt16BE(at + 3);
    const isRight = bytes[at] === handshakeRecord && bytes[at + 1] === majorVersion;
    if (!isRight || recordBytes === 0 || recordBytes > recordBytesMax) return 'malformed';
    const end = at + recordHeaderBytes + recordBytes;
    const fragment = bytes.subarray(at + recordHeaderBytes, end);
    if (length === 0 && fragment.length > 0 && fragment[0] !== clientHello) return 'malformed';
    fragments.push(fragment);
    length += fragment.length;
    at = end;
  }
  if (length < helloHeaderBytes) return undefined;
  const whole = fragments.length === 1 ? (fragments[0] as Buffer) : Buffer.concat(fragments);
  const end = helloHeaderBytes + whole.readUIntBE(1, 3);
  if (end > helloBytesMax) return 'malformed';
  return whole.length < end ? undefined : whole.subarray(helloHeaderBytes, end);
}

const versionAndRandomBytes = 34;

/** Reads a hello (RFC 8446, 4.1.2; RFC 5246, 7.4.1.2). */
function readHello(hello: Buffer): FirstWords {
  try {
    const reader = new Reader(hello);
    reader.skip(versionAndRandomBytes);
    reader.skip(reader.uint8());
    reader.skip(reader.uint16());
    reader.skip(reader.uint8());
    // Before TLS 1.2 a hello may end here.
    if (reader.isAtEnd) return { kind: 'tls', serverName: '' };
    const extensions = reader.take(reader.uint16());
    if (!reader.isAtEnd) return malformed;
    const name = readServerName(new Reader(extensions));
    return { kind: 'tls', serverName: name ?? '' };
  } catch (error) {
    if (error instanceof RangeError) return malformed;
    throw error;
  }
}

const serverNameExtension = 0;
const hostName = 0;

/**
 * Returns the name, or undefined where there is no such extension. Throws RangeError for two extensions, or
 * two names.
 */
function readServerName(extensions: Reader): string | undefined {
  let found: string | undefined;
  while (!extensions.isAtEnd) {
    const type = extensions.uint16();
    const content = new Reader(extensions.take(extensions.uint16()));
    if (type !== serverNameExtension) continue;
    if (found !== undefined) throw new RangeError('Two lists of server names.');
    const list = new Reader(content.take(content.uint16()));
    const nameType = list.uint8();
    const name = list.take(list.uint16());
    // Other types of names have never been defined, and an empty name is none.
    if (nameType !== hostName || name.length === 0 || !list.isAtEnd || !content.isAtEnd)
      throw new RangeError('No one host name.');
    found = name.toString('latin1');
  }
  return found;
}

/** Reads one value after the other. Throws RangeError past the end. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  uint8(): number {
    return this.take(1).readUInt8();
  }

  uint16(): number {
    return this.take(2).readUInt16BE();
  }

  skip(length: number): void {
    this.take(length);
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('It is cut.');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
