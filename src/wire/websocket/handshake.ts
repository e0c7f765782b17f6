import { hash, randomBytes } from 'node:crypto';

/* The opening handshake of WebSocket (RFC 6455, 4), as far as both sides of a gateway need it. */

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
export const webSocketVersion = '13';

/** Returns the server's answer to a key, which proves that it understood. */
export const acceptOf = (key: string): string => hash('sha1', `${key}${guid}`, 'base64');

export const newKey = (): string => randomBytes(16).toString('base64');

/** Returns the fields of a request over HTTP/1.1 that asks for WebSocket, flat. */
export const upgradeFields = (key: string): string[] => [
  ...['Connection', 'Upgrade', 'Upgrade', 'websocket'],
  ...['Sec-WebSocket-Version', webSocketVersion, 'Sec-WebSocket-Key', key],
];

/** Returns the key of a request for WebSocket; empty where there is none. */
export function keyIn(fields: readonly string[]): string {
  const at = fields.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'sec-websocket-key');
  return at < 0 ? '' : (fields[at + 1] ?? '');
}

/** Tells whether a text is a key: 16 bytes in base64. */
export const isKey = (text: string): boolean => /^[A-Za-z0-9+/]{21}[AQgw]==$/.test(text);

/** Returns the items of a list field (RFC 9110, 5.6.1) but for empty ones. */
export const itemsOf = (value: string): string[] =>
  value
    .split(',')
    .map((it) => it.trim())
    .filter((it) => it !== '');

/** Tells whether a list has the item, in any case. `item` is in lower case. */
export const hasItem = (value: string, item: string): boolean =>
  itemsOf(value).some((it) => it.toLowerCase() === item);
