import type { Duplex } from 'node:stream';

/* As much of WebSocket's frames (RFC 6455, 5.2) as both ends of a test need: whole messages of less than 64 KB. */

export const opcodes = { text: 1, binary: 2, close: 8 } as const;

export interface Message {
  readonly opcode: number;
  readonly content: Buffer;
}

/** `isMasked`: by a client (RFC 6455, 5.3). */
export function toFrame({ opcode, content }: Message, isMasked: boolean): Buffer {
  const mask = isMasked ? Buffer.from([1, 2, 3, 4]) : Buffer.alloc(0);
  const isLong = content.length > 125;
  const length = isLong ? [126, content.length >> 8, content.length & 0xff] : [content.length];
  const head = Buffer.from([0x80 | opcode, ...length]);
  if (isMasked) head[1] = (head[1] as number) | 0x80;
  return Buffer.concat([head, mask, masked(content, mask)]);
}

/** The messages of a connection, up to its close frame and with that. */
export async function* messagesOf(socket: Duplex): AsyncGenerator<Message> {
  let waiting = Buffer.alloc(0);
  for await (const chunk of socket) {
    waiting = Buffer.concat([waiting, chunk]);
    for (let read = readFrame(waiting); read; read = readFrame(waiting)) {
      waiting = waiting.subarray(read.bytes);
      yield read.message;
      if (read.message.opcode === opcodes.close) return;
    }
  }
}

function readFrame(bytes: Buffer): { message: Message; bytes: number } | undefined {
  const [first = 0, second = 0] = bytes;
  const isLong = (second & 0x7f) === 126;
  const maskAt = isLong ? 4 : 2;
  if (bytes.length < maskAt) return undefined;
  const length = isLong ? bytes.readUInt16BE(2) : second & 0x7f;
  const contentAt = maskAt + (second & 0x80 ? 4 : 0);
  if (bytes.length < contentAt + length) return undefined;
  const content = masked(bytes.subarray(contentAt, contentAt + length), bytes.subarray(maskAt, contentAt));
  return { message: { opcode: first & 0x0f, content }, bytes: contentAt + length };
}

const masked = (content: Buffer, mask: Buffer): Buffer =>
  mask.length === 0 ? content : (content.map((byte, i) => byte ^ (mask[i % 4] as number)) as Buffer);

/** Sends back what it is sent, up to the close frame. */
export async function echoMessages(socket: Duplex): Promise<void> {
  for await (const message of messagesOf(socket)) socket.write(toFrame(message, false));
}
