import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Frame } from './cases.ts';

const opcodes = { continuation: 0, text: 1, binary: 2 } as const;
const closeOpcode = 8;
/** How long a gateway has to end a connection whose last frame it does not let pass. */
const verdictMs = 1500;

/** Opens a WebSocket in a tunnel, sends frames as they are given, and says whether the gateway ended it. */
export async function isCutOff(socket: Duplex, url: URL, frames: readonly Frame[]): Promise<boolean> {
  const key = randomBytes(16).toString('base64');
  const fields = [
    `Host: ${url.host}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
  ];
  socket.write(
    `GET ${url.pathname} HTTP/1.1\r\n${[...fields, `Sec-WebSocket-Key: ${key}`].join('\r\n')}\r\n\r\n`,
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.toString('latin1').startsWith('HTTP/1.1 101')) return true;
  let ended = false;
  socket.on('data', (data: Buffer) => {
    ended ||= ((data[0] ?? 0) & 0x0f) === closeOpcode;
  });
  socket.on('close', () => {
    ended = true;
  });
  for (const frame of frames) {
    if (!socket.destroyed) socket.write(encoded(frame));
    await sleep(20);
  }
  const endsAt = performance.now() + verdictMs;
  while (!ended && performance.now() < endsAt) await sleep(20);
  socket.destroy();
  return ended;
}

/** RFC 6455, 5.2, masked as clients must. */
function encoded({ opcode, payload, encoding, fin = true, rsv1 = false }: Frame): Buffer {
  const data = Buffer.from(payload, encoding ?? 'utf8');
  const first = (fin ? 0x80 : 0) | (rsv1 ? 0x40 : 0) | opcodes[opcode];
  const length =
    data.length < 126
      ? Buffer.from([0x80 | data.length])
      : Buffer.from([0x80 | 126, data.length >> 8, data.length & 255]);
  const mask = randomBytes(4);
  return Buffer.concat([
    Buffer.from([first]),
    length,
    mask,
    data.map((byte, at) => byte ^ (mask[at % 4] ?? 0)),
  ]);
}
