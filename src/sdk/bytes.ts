/* Bytes, by web standards alone. */

/** The number of arguments that a function takes in every runtime. */
const chunkLength = 0x2000;

export function toBase64(bytes: Uint8Array): string {
  let latin1 = '';
  for (let at = 0; at < bytes.length; at += chunkLength)
    latin1 += String.fromCharCode(...bytes.subarray(at, at + chunkLength));
  return btoa(latin1);
}

/** Returns undefined where the text is no base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined;
  return toLatin1Bytes(atob(text));
}

/** One byte a character, as headers are. */
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
    // That is the answer: these bytes are no text.
    return undefined;
  }
}

/** Returns the text at the beginning of these bytes: a character that is cut at their end is left out. */
export function toTextStart(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    // As above.
    return undefined;
  }
}

export const toUtf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

export interface ReadBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** False where there was more than was asked for. */
  readonly isWhole: boolean;
}

/** Reads at most `bytesMax` bytes and drops the rest. A chunk that is no `Uint8Array` is a TypeError. */
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
    // After the end this does nothing. It is not waited for: a source may take its time to stop.
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
