import { isField } from '../http1/field.ts';
import { acceptOf, keyIn } from '../websocket/handshake.ts';

/**
 * Returns the head that accepts an upgrade to WebSocket (RFC 6455, 4.2.2). `asked` are the request's fields,
 * with its key. Throws for a name or value that no head may have.
 */
export function switchingHead(asked: readonly string[], fields: readonly string[]): string {
  let head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
  head += `Sec-WebSocket-Accept: ${acceptOf(keyIn(asked))}\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    if (!isField(name, value))
      throw new TypeError('A field of the answer has characters that no head may have.');
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}
