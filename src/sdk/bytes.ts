/* Works with bytes, by web standards alone. */

/** Arguments that a function takes in every runtime. */
const chunkLength = 0x2000;

export function toBase64(bytes: Uint8Array): string {
  let latin1 = '';
  for (let at = 0; at < bytes.length; at += chunkLength)
    latin1 += String.fromCharCode(...bytes.subarray(at, at + chunkLength));
  return btoa(latin1);
}

/** Returns the bytes of a base64 text; undefined where the text is no base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined;
  return toLatin1Bytes(atob(text));
}

/** Returns one byte for each character, as headers have them. */
export function toLatin1Bytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** Returns the text whose UTF-8 is exactly these bytes, with any byte order mark; undefined if none is. */
export function toText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // These bytes are no text, which is the answer.
    return undefined;
  }
}

/** Returns the text of these bytes, but for a character that is cut at their end; undefined if it is none. */
export function toTextStart(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    // These bytes are no text, which is the answer.
    return undefined;
  }
}

export const toUtf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

export interface ReadBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Tells whether there was no more than was asked for. */
  readonly isWhole: boolean;
}

/** Reads at most `bytesMax` bytes and drops the rest. Throws TypeError for chunks other than `Uint8Array`. */
export async function readBounded(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<ReadBytes> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { bytes: join(chunks, length), isWhole: true };
      if (!(value instanceof Uint8Array)) throw new TypeError('A stream of a body must give Uint8Array.');
      const room = bytesMax - length;
      const kept = value.slice(0, room);
      chunks.push(kept);
      length += kept.length;
      if (value.length > room) return { bytes: join(chunks, length), isWhole: false };
    }
  } finally {
    // After the end this does nothing. Nobody waits for it, since a source may take its time to stop.
    reader.cancel().catch(() => undefined);
  }
}

export function join(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
