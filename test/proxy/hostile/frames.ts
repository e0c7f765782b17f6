/* Frames of HTTP/2 (RFC 9113, 4 and 6) and fields of HPACK (RFC 7541, 6) as bytes: what no library would write. */

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;

export const endStream = 0x1;
export const endHeaders = 0x4;
export const padded = 0x8;
export const withPriority = 0x20;
export const ack = 0x1;

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export function frame(
  type: keyof typeof frameTypes | number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = typeof type === 'number' ? type : frameTypes[type];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A number with a prefix of seven bits (RFC 7541, 5.1), for the length of a string without Huffman. */
function length7(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([length7(bytes.length), bytes]);
};

export type Pair = readonly [name: string, value: string];

/** A field as a literal that enters no table; `isIndexed`: that enters the dynamic table. */
export const field = ([name, value]: Pair, isIndexed = false): Buffer =>
  Buffer.concat([Buffer.from([isIndexed ? 0x40 : 0]), text(name), text(value)]);

export const block = (pairs: readonly Pair[]): Buffer => Buffer.concat(pairs.map((pair) => field(pair)));

const number32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

export const settings = (...pairs: readonly (readonly [id: number, value: number])[]): Buffer =>
  frame(
    'settings',
    0,
    0,
    Buffer.concat(pairs.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), number32(value)]))),
  );

export const windowUpdate = (stream: number, increment: number): Buffer =>
  frame('window', 0, stream, number32(increment));

export const reset = (stream: number): Buffer => frame('reset', 0, stream, number32(8));

export const headers = (pairs: readonly Pair[], flags = endStream | endHeaders, stream = 1): Buffer =>
  frame('headers', flags, stream, block(pairs));

/** `success`: an answer of 2xx or 3xx has begun. `refused`: one of 4xx or 5xx, or the stream or the connection was ended. */
export type Outcome = 'success' | 'refused' | 'undecided';

/** Reads frames as they come, up to what says how the first request has ended. */
export function outcomeOf(bytes: Buffer): Outcome {
  for (let at = 0; at + 9 <= bytes.length; ) {
    const length = bytes.readUIntBE(at, 3);
    const [type = 0] = bytes.subarray(at + 3);
    const payload = bytes.subarray(at + 9, at + 9 + length);
    if (payload.length < length) return 'undecided';
    if (type === frameTypes.goaway || type === frameTypes.reset) return 'refused';
    if (type === frameTypes.headers) {
      const status = statusClassOf(payload);
      if (status !== 1) return status < 4 ? 'success' : 'refused';
    }
    at += 9 + length;
  }
  return 'undecided';
}

/** The first digit of the `:status` with which a block of nghttp2 begins; in the static table, or as a literal. */
function statusClassOf(payload: Buffer): number {
  const [first = 0, second = 0, third = 0] = payload;
  // RFC 7541, appendix A: 200, 204, 206, 304, 400, 404, 500.
  if (first >= 0x88 && first <= 0x8e) return [2, 2, 2, 3, 4, 4, 5][first - 0x88] ?? 0;
  if ((first & 0x3f) !== 8 && (first & 0x0f) !== 8)
    throw new Error('The answer does not begin with its status.');
  if ((second & 0x80) === 0) return third - 0x30;
  // RFC 7541, appendix B: '0' to '2' have five bits, 0 to 2; '3' to '9' have six, from 0x19 on.
  return third >> 3 <= 2 ? third >> 3 : (third >> 2) - 0x19 + 3;
}
