import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { toGatewayError } from '../../../src/core/errors.ts';
import { parseTarget, type Target, targetWithin, wholeServer } from '../../../src/core/target.ts';
import { readRequestHead } from '../../../src/proxy/request-head.ts';
import type { Upstream } from '../../../src/wire/client/upstream.ts';
import { toUpstreamHeaders } from '../../../src/wire/http1/headers.ts';
import { type AgentConnections, createAgentConnections } from '../../../src/wire/server/agent-connections.ts';
import type { Exchange } from '../../../src/wire/server/exchange.ts';
import { answerProblem } from '../../../src/wire/server/problem.ts';
import { startHaproxy } from '../../support/haproxy.ts';
import { openUpstream } from '../client/front.ts';
import { roomyLimits } from '../server/lab.ts';
import {
  keepIn,
  type Message,
  NodeReader,
  type Place,
  type Reading,
  readAnswer,
  sendAll,
} from './node-reader.ts';

/*
 * A gate with an agent before it and a second parser behind it, over real sockets: agent - AgentConnection - Connection - tap - haproxy -
 * Node's server. The tap keeps the bytes that leave. Where the machine has no haproxy, the tap leads to Node's server itself.
 */

/** What became of the bytes that an agent sent on one connection. */
export interface Passage {
  /** What the codec read, in the order and words of the connection. */
  readonly came: readonly Message[];
  /** What of that would be judged. */
  readonly judged: readonly Message[];
  /** The bytes that left towards the upstream, in latin1. */
  readonly left: string;
  /** What the second parser made of those. */
  readonly read: Reading;
  /** Of the final answers that the agent got. */
  readonly statuses: readonly number[];
  /** A request came behind one that was malformed, or an answer behind one that said it was the last. */
  readonly hasGoneOn: boolean;
  /** The last answer says that nothing more is read. */
  readonly isClosed: boolean;
  /** Why a request that was judged was not answered by the upstream. */
  readonly failures: readonly string[];
}

interface Test {
  readonly fullname: string;
  teardown(close: () => void | Promise<void>): void;
}

const bodyBytesMax = 1024 * 1024;
/** Another parser that neither answers nor closes for so long has given up on what it was sent. */
const stallMs = 10_000;
/** The refusal that a stalled reading is given. */
export const stalled = 'STALLED';
const haproxyDefaults = [
  'global',
  '  tune.bufsize 65536',
  '  tune.http.maxhdr 200',
  'defaults',
  '  mode http',
  '  timeout connect 60s',
  '  timeout client 60s',
  '  timeout server 60s',
];

export interface Lanes {
  readonly lanes: readonly Lane[];
  readonly hasHaproxy: boolean;
}

/** Each lane takes one connection of an agent at a time. */
export async function openLanes(t: Test, count: number): Promise<Lanes> {
  const dir = mkdtempSync(join(tmpdir(), 'postern-lanes-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const names = Array.from({ length: count }, (_none, i) => join(dir, String(i)));
  const ways = names.flatMap((name) => ['leaving', 'coming', 'answers'].map((way) => `${name}-${way}`));
  const config = ways.flatMap((way, i) => [
    `listen way-${i}`,
    `  bind unix@${way}`,
    `  server next unix@${behind(way)}`,
  ]);
  const hasHaproxy = await startHaproxy(t, [...haproxyDefaults, ...config], ways);
  const upstream = openUpstream(t);
  const connections = createAgentConnections(() => roomyLimits);
  t.teardown(() => connections.close());
  const lanes: Lane[] = [];
  for (const name of names) {
    const lane = new Lane({ name, hasHaproxy, upstream, connections });
    t.teardown(() => lane.close());
    await lane.open();
    lanes.push(lane);
  }
  return { lanes, hasHaproxy };
}

/** Where haproxy leads to. */
const behind = (way: string): string => `${way}-node`;

export interface LaneOptions {
  /** The beginning of the paths of its sockets. */
  readonly name: string;
  readonly hasHaproxy: boolean;
  readonly upstream: Upstream;
  readonly connections: AgentConnections;
}

export class Lane {
  readonly #options: LaneOptions;
  readonly #sockets = new Set<net.Socket>();
  readonly #gate: net.Server;
  readonly #tap: net.Server;
  /** The tap again, for haproxy to ask. */
  readonly #answering: net.Server;
  /** Reads what leaves the gateway. */
  readonly #last = new NodeReader();
  /** Read what comes to it. */
  readonly #node = new NodeReader();
  readonly #behindHaproxy = new NodeReader();
  /** What the tap answers, in pieces, in place of passing requests on. */
  #answer: readonly Buffer[] | undefined;
  #served: net.Socket | undefined;
  /** Requests that are judged and not answered yet. */
  #running = 0;
  #came: Message[] = [];
  #judged: Message[] = [];
  #left = '';
  #hasFailed = false;
  #hasGoneOn = false;
  #failures: string[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#gate = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      keepIn(this.#sockets, socket);
      this.#served = socket;
      options.connections.serve(socket, (exchange) => this.#take(exchange));
    });
    this.#tap = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#pass(socket));
    this.#answering = net.createServer({ allowHalfOpen: true }, (socket) => this.#pass(socket));
  }

  async open(): Promise<void> {
    const { name } = this.#options;
    this.#gate.listen(0, '127.0.0.1');
    this.#tap.listen(0, '127.0.0.1');
    this.#answering.listen(behind(`${name}-answers`));
    const servers = [this.#gate, this.#tap, this.#answering];
    await Promise.all([
      ...servers.map((server) => once(server, 'listening')),
      this.#last.listen(behind(`${name}-leaving`)),
      this.#behindHaproxy.listen(behind(`${name}-coming`)),
      this.#node.listen(`${name}-alone`),
    ]);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of [this.#gate, this.#tap, this.#answering]) server.close();
    for (const reader of [this.#last, this.#node, this.#behindHaproxy]) reader.close();
  }

  /** Sends the pieces to the gateway, each in a segment of its own as far as the kernel allows, and waits until nothing moves. */
  async pass(pieces: readonly Buffer[]): Promise<Passage> {
    this.#came = [];
    this.#judged = [];
    this.#failures = [];
    this.#hasFailed = this.#hasGoneOn = false;
    this.#last.take();
    this.#left = '';
    const served = once(this.#gate, 'connection');
    const socket = net.connect({ ...this.#gatePlace, allowHalfOpen: true, noDelay: true });
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
    await Promise.all([served, sendAll(socket, pieces, () => this.#hasRead(pieces))]);
    while (this.#running > 0) await sleep(1);
    await nextTurn();
    return {
      came: this.#came,
      judged: this.#judged,
      left: this.#left,
      read: this.#last.take(),
      statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)]
        .map(([, status]) => Number(status))
        .filter((it) => it !== 100),
      hasGoneOn: this.#hasGoneOn || /\nConnection: close\r\n[\s\S]*HTTP\/1\.1 \d{3} /.test(text),
      isClosed: /\nConnection: close\r\n/.test(text),
      failures: this.#failures,
    };
  }

  /** What Node's server makes of the same bytes, all that its connection brings. */
  readWithNode(bytes: Buffer): Promise<Reading> {
    return this.#readAt(`${this.#options.name}-alone`, this.#node, bytes);
  }

  /** Likewise haproxy, as Node's server is told. */
  readWithHaproxy(bytes: Buffer): Promise<Reading> {
    return this.#readAt(`${this.#options.name}-coming`, this.#behindHaproxy, bytes);
  }

  /** What an agent reads of an answer that comes in these pieces, after which the upstream closes. */
  async answerThroughGate(pieces: readonly Buffer[]): Promise<Reading> {
    this.#failures = [];
    const reading = await this.#ask(this.#gatePlace, pieces);
    while (this.#running > 0) await sleep(1);
    const [failure] = this.#failures;
    return failure === undefined ? reading : { messages: [], refusal: failure };
  }

  answerToNode(pieces: readonly Buffer[]): Promise<Reading> {
    return this.#ask({ port: (this.#tap.address() as AddressInfo).port, host: '127.0.0.1' }, pieces);
  }

  answerThroughHaproxy(pieces: readonly Buffer[]): Promise<Reading> {
    return this.#ask({ path: `${this.#options.name}-answers` }, pieces);
  }

  get authority(): string {
    return `127.0.0.1:${(this.#tap.address() as AddressInfo).port}`;
  }

  get #gatePlace() {
    return { port: (this.#gate.address() as AddressInfo).port, host: '127.0.0.1' };
  }

  /** The gate has taken all of it and owes no answer: what it waits for does not come. */
  #hasRead(pieces: readonly Buffer[]): boolean {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    return this.#running === 0 && (this.#served?.bytesRead ?? 0) >= length;
  }

  /** As the proxy does inside a tunnel, where each request is allowed. */
  #take(exchange: Exchange): void {
    if (this.#hasFailed) this.#hasGoneOn = true;
    const { method, target: written, fields } = exchange;
    const judge = (body: Buffer): void => {
      this.#came.push({
        start: [method, written],
        fields: [...fields],
        body: body.toString('latin1'),
        trailers: [],
      });
      try {
        this.#forward(exchange, body);
      } catch (error) {
        answerProblem(exchange, toGatewayError(error), []);
      }
    };
    if (!exchange.hasBody) judge(Buffer.alloc(0));
    else {
      exchange.collect(
        { bytesMax: bodyBytesMax },
        {
          done: judge,
          failed: (error) => {
            this.#hasFailed = true;
            answerProblem(exchange, error, []);
          },
        },
      );
    }
  }

  #forward(exchange: Exchange, body: Buffer): void {
    const { method, answer } = exchange;
    const { port } = this.#tap.address() as AddressInfo;
    const target = targetOf(exchange, port);
    const { headers } = readRequestHead(exchange.fields, 'x-service-', roomyLimits.maxHeaders);
    this.#judged.push({
      start: [method, target.path],
      fields: headers,
      body: body.toString('latin1'),
      trailers: [],
    });
    this.#running++;
    answer.once('close', () => this.#running--);
    const failed = (error: Error): void => {
      this.#failures.push(error.message);
    };
    this.#options.upstream.forward(
      {
        tenantId: this.#options.name,
        agentId: 'bot',
        target: { ...target, scheme: 'http', host: '127.0.0.1', port },
        method,
        headers: toUpstreamHeaders(headers, this.authority, '1.1 postern'),
        body: body.length > 0 ? body : undefined,
      },
      {
        response: answer,
        extraHeaders: [],
        onError: (error) => {
          failed(error);
          answerProblem(exchange, error, []);
        },
        onCut: failed,
      },
    );
  }

  #pass(socket: net.Socket): void {
    keepIn(this.#sockets, socket);
    const pieces = this.#answer;
    if (pieces) {
      socket.once('data', () => sendAll(socket, pieces, () => true));
      return;
    }
    const { name, hasHaproxy } = this.#options;
    const way = `${name}-leaving`;
    const next = net.connect({ path: hasHaproxy ? way : behind(way), allowHalfOpen: true });
    keepIn(this.#sockets, next);
    socket.on('data', (bytes) => {
      this.#left += bytes.toString('latin1');
      next.write(bytes);
    });
    socket.on('end', () => next.end()).on('close', () => next.destroy());
    next.on('data', (bytes) => socket.write(bytes));
    next.on('end', () => socket.end()).on('close', () => socket.destroySoon());
  }

  async #readAt(path: string, reader: NodeReader, bytes: Buffer): Promise<Reading> {
    reader.take();
    const socket = net.connect({ path, allowHalfOpen: true });
    socket.resume();
    let hasStalled = false;
    socket.setTimeout(stallMs, () => {
      hasStalled = true;
      socket.destroy();
    });
    await sendAll(socket, [bytes], () => true);
    const reading = reader.take();
    if (hasStalled) reading.refusal ||= stalled;
    return reading;
  }

  async #ask(place: Place, pieces: readonly Buffer[]): Promise<Reading> {
    this.#answer = pieces;
    const reading = await readAnswer(place, this.authority);
    this.#answer = undefined;
    return reading;
  }
}

/** All requests of a connection lead to the tap, whatever host an absolute-form names. */
function targetOf({ method, target: written }: Exchange, port: number): Target {
  if (written.startsWith('/')) return targetWithin('http', '127.0.0.1', port, written);
  if (written === '*' && method === 'OPTIONS') return wholeServer('http', '127.0.0.1', port);
  return parseTarget(written);
}
