/**
 * Declares what is used of `ws`, which brings no types. The types that others publish leave its parser out.
 */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { Agent, IncomingMessage, Server } from 'node:http';
  import { type Duplex, Writable } from 'node:stream';

  /** Reads frames (RFC 6455, 5.2) and puts messages together. An error has a `code`, and ends the reading. */
  export class Receiver extends Writable {
    constructor(options: {
      readonly isServer: boolean;
      /** Bytes that a message may have. */
      readonly maxPayload: number;
      readonly maxFragments: number;
      readonly maxBufferedChunks: number;
    });
    on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): this;
    on(event: 'ping' | 'pong', listener: (data: Buffer) => void): this;
    on(event: 'conclude', listener: (code: number, reason: Buffer) => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
  }

  export const Sender: {
    frame(
      data: Buffer,
      options: {
        readonly fin: boolean;
        readonly opcode: number;
        readonly mask: boolean;
        readonly readOnly: boolean;
        readonly rsv1: boolean;
      },
    ): Buffer[];
  };

  export class WebSocket extends EventEmitter {
    constructor(
      address: string | URL,
      protocols?: readonly string[],
      options?: {
        readonly agent?: Agent;
        readonly ca?: Buffer;
        readonly headers?: Readonly<Record<string, string>>;
        readonly perMessageDeflate?: boolean;
        readonly createConnection?: () => Duplex;
        readonly rejectUnauthorized?: boolean;
      },
    );
    readonly protocol: string;
    readonly extensions: string;
    readonly readyState: number;
    send(
      data: string | Buffer,
      options?: { readonly fin?: boolean; readonly binary?: boolean; readonly compress?: boolean },
    ): void;
    ping(data?: string | Buffer): void;
    pong(data?: string | Buffer): void;
    close(code?: number, reason?: string): void;
    terminate(): void;
    pause(): void;
    resume(): void;
    readonly bufferedAmount: number;
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: {
      readonly noServer?: boolean;
      readonly server?: Server;
      readonly perMessageDeflate?: boolean;
      readonly handleProtocols?: (protocols: Set<string>) => string | false;
    });
    readonly clients: ReadonlySet<WebSocket>;
    handleUpgrade(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      done: (socket: WebSocket) => void,
    ): void;
    close(): void;
  }
}
