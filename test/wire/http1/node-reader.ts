import { once } from 'node:events';
import http from 'node:http';
import type net from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** One message as somebody read it, with text in latin1. */
export interface Message {
  /** `[method, target]`, or `[status]`. */
  readonly start: readonly string[];
  /** Flat. */
  readonly fields: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
}

export interface Reading {
  /** Those that were whole. */
  readonly messages: Message[];
  /** Why reading stopped before the end; '' where it did not. */
  refusal: string;
}

export type Place = { readonly port: number; readonly host: string } | { readonly path: string };

/** Node's own server at the path of a socket: reads requests, and answers each that is whole with 204. */
export class NodeReader {
  readonly #server: http.Server;
  readonly #sockets = new Set<net.Socket>();
  #reading: Reading = { messages: [], refusal: '' };

  constructor() {
    const bounds = { maxHeaderSize: 65_536, keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 };
    this.#server = http.createServer({ ...bounds, requireHostHeader: false }, (request, response) => {
      collected(request, [request.method ?? '', request.url ?? ''], (message) => {
        this.#reading.messages.push(message);
        response.writeHead(204).end();
      });
      request.on('error', () => response.destroy());
    });
    // Else the end of what the client sends would abort the requests before it.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on('connection', (socket) => keepIn(this.#sockets, socket));
    this.#server.on('clientError', (error, socket) => {
      this.#reading.refusal ||= codeOf(error);
      socket.destroy();
    });
  }

  async listen(path: string): Promise<void> {
    this.#server.listen(path);
    await once(this.#server, 'listening');
  }

  /** What was read since it was asked last. */
  take(): Reading {
    const reading = this.#reading;
    this.#reading = { messages: [], refusal: '' };
    return reading;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** What Node's client reads of the answer to a plain request. */
export async function readAnswer(place: Place, authority: string): Promise<Reading> {
  const reading: Reading = { messages: [], refusal: '' };
  const to = 'path' in place ? { socketPath: place.path } : place;
  const request = http.get({ ...to, path: '/', headers: { Host: authority }, agent: false });
  const stop = (error: Error): void => {
    reading.refusal ||= codeOf(error);
    request.destroy();
  };
  request.on('error', stop);
  request.on('response', (response) => {
    collected(response, [String(response.statusCode)], (message) => {
      if (response.complete) reading.messages.push(message);
    });
    response.on('error', stop);
  });
  await new Promise((resolve) => request.once('close', resolve));
  return reading;
}

/** Until it is closed; a reset is one way to close. */
export function keepIn(sockets: Set<net.Socket>, socket: net.Socket): void {
  sockets.add(socket);
  socket.on('error', () => socket.destroy());
  socket.once('close', () => sockets.delete(socket));
}

/** Resolves when the connection is closed. Our side is closed once all is written, even behind a refusal, and `isRead`. */
export async function sendAll(
  socket: net.Socket,
  pieces: readonly Buffer[],
  isRead: () => boolean,
): Promise<void> {
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let isEnded = false;
  socket.on('error', () => socket.destroy());
  socket.once('end', () => {
    isEnded = true;
  });
  for (const piece of pieces) {
    if (socket.destroyed) break;
    await new Promise((resolve) => socket.write(piece, resolve));
    await nextTurn();
  }
  while (!socket.destroyed && !isEnded && !(isRead() && (await isStill(isRead)))) await sleep(1);
  socket.end();
  await closed;
}

/** What was read is handed on within a few turns of the event loop. */
async function isStill(isRead: () => boolean): Promise<boolean> {
  for (let turn = 0; turn < 3; turn++) {
    await nextTurn();
    if (!isRead()) return false;
  }
  return true;
}

function collected(message: http.IncomingMessage, start: string[], done: (message: Message) => void): void {
  let body = '';
  message.on('data', (data: Buffer) => {
    body += data.toString('latin1');
  });
  message.on('end', () => done({ start, fields: message.rawHeaders, body, trailers: message.rawTrailers }));
}

const codeOf = (error: Error & { code?: string }): string => error.code ?? error.message;
