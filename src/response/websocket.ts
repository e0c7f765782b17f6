import type { Piece } from './content.ts';
import type { ResponseInspector } from './inspector.ts';

/** Returns a message of a WebSocket as a piece. */
export const messagePiece = (bytes: Buffer, isBinary: boolean): Piece => ({
  bytes,
  contentType: messageType(bytes, isBinary),
});

/** Returns the probable content type of a message, in either direction; messages do not say what they are. */
export const messageType = (bytes: Buffer, isBinary: boolean): string =>
  isBinary
    ? 'application/octet-stream'
    : beginsAsJson(bytes)
      ? 'application/json'
      : 'text/plain; charset=utf-8';

const beginsAsJson = (bytes: Buffer): boolean => /^[\t\n\r ]*[[{]/.test(bytes.toString('latin1', 0, 256));

/** Tells whether a close reason, ping or pong may come in as it is. Such a text is not worth being cut. */
export async function mayComeIn(inspector: ResponseInspector, bytes: Buffer): Promise<boolean> {
  if (bytes.length === 0 || !inspector.rules?.isEnforced) return true;
  const { reasons, bytes: admitted } = await inspector.inspect(messagePiece(bytes, false));
  return reasons.length === 0 && admitted === bytes;
}
