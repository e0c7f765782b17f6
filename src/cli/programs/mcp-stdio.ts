import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { note, printable } from '../output.ts';
import type { McpJudge, Refusal } from './mcp-judge.ts';

/** Bound on the bytes of one message, a line, in either direction. */
export const messageBytesMax = 16 * 1024 * 1024;
/** Bound on the requests whose answers are waited for; the oldest are forgotten. */
const openRequestsMax = 1024;
/** Bound on the characters of an id, which is kept until its answer comes. */
const idLengthMax = 256;
/** Time without a line after which a server that has ended has said all. */
const lastLinesMs = 500;
/**
 * JSON-RPC 2.0, 5.1: the text is no message; and a code of the range that is left to servers. SDKs of MCP have
 * -32000 to -32002 for a closed connection, a time out and a missing resource.
 */
const parseError = -32_700;
const refusedError = -32_003;
const newline = 0x0a;

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
}

interface Ends {
  readonly input: Readable;
  readonly output: Writable;
  readonly judge: McpJudge;
  /** The environment of the server. */
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Runs an MCP server and passes messages between it and the client at `input` and `output`, each once it was
 * judged, in their order. Returns the exit code of the server. Throws where it cannot be started, or a message
 * is too long.
 */
export async function runMcpServer(command: readonly string[], ends: Ends): Promise<number> {
  const [name = '', ...args] = command;
  const server = spawn(name, args, { stdio: ['pipe', 'pipe', 'inherit'], env: ends.env });
  const ended = new Promise<number>((done, failed) => {
    server.once('error', (error) => failed(new Error(`cannot run ${name}: ${error.message}`)));
    server.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
  // A server that has ended takes nothing any more; its exit code says how it ended.
  server.stdin.on('error', () => server.stdin.destroy());
  const given = Promise.withResolvers<void>();
  const forward = (signal: NodeJS.Signals): void => {
    if (!server.kill(signal)) given.resolve();
  };
  for (const signal of signals) process.on(signal, forward);
  const bridge = new Bridge(ends, server.stdin);
  let taken = 0;
  let judging: Promise<void> | undefined;
  const toServer = passOn(ends.input, (line) => bridge.toServer(line));
  const toClient = passOn(server.stdout, (line) => {
    taken += 1;
    judging = bridge.toClient(line);
    return judging;
  });
  /** Programs that the server has left behind may hold its output open for ever. */
  const isQuiet = ended.then(async () => {
    for (let before = -1; before !== taken; ) {
      before = taken;
      await judging;
      await sleep(lastLinesMs, undefined, { ref: false });
    }
  });
  /** Rejects where an end fails; a client that has said its last word still waits for answers. */
  const broken = new Promise<never>((_, failed) => {
    ends.output.on('error', failed);
    toServer.then(() => server.stdin.end(), failed);
  });
  try {
    const said = Promise.race([toClient, isQuiet, given.promise]);
    const [code] = await Promise.race([Promise.all([ended, said]), broken]);
    return code;
  } finally {
    for (const signal of signals) process.off(signal, forward);
    server.kill();
    // Not even a server that ignores the signal keeps this process.
    server.unref();
    for (const end of [server.stdin, server.stdout, ends.input]) end.destroy();
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Takes the lines of a stream, one after the other. */
async function passOn(from: Readable, take: (line: Buffer) => Promise<void> | void): Promise<void> {
  for await (const line of linesOf(from)) if (line.length > 0) await take(line);
}

class Bridge {
  readonly #judge: McpJudge;
  readonly #client: Writable;
  readonly #server: Writable;
  /** The traces of requests that the server has yet to answer, by the JSON of their ids. */
  readonly #traces = new Map<string, string>();

  constructor({ judge, output }: Ends, server: Writable) {
    this.#judge = judge;
    this.#client = output;
    this.#server = server;
  }

  async toServer(line: Buffer): Promise<void> {
    const text = line.toString();
    const message = parsed(text);
    if (message === undefined)
      return this.#refuse(
        this.#client,
        null,
        { message: 'Postern: the line is no message of JSON-RPC 2.0.', data: {} },
        parseError,
      );
    const { id, method } = message;
    const judged = await this.#judge.outgoing(
      text,
      typeof method === 'string' ? method : undefined,
      (traceId) => {
        if (id !== undefined && method !== undefined) this.#remember(id, traceId);
      },
    );
    if ('text' in judged) return write(this.#server, judged.text);
    // A server whose request is not answered would wait for ever.
    if (id !== undefined && method === undefined) await this.#refuse(this.#server, id, judged.refusal);
    // A notification gets no answer (JSON-RPC 2.0, 4.1), so whoever runs the server is told.
    if (id === undefined || method === undefined)
      return note(`postern: ${printable(judged.refusal.message)}`);
    this.#traces.delete(JSON.stringify(id));
    return this.#refuse(this.#client, id, judged.refusal);
  }

  async toClient(line: Buffer): Promise<void> {
    const text = line.toString();
    const message = parsed(text);
    if (message === undefined)
      return note('postern: the server wrote a line that is no message; it was left out.');
    const { id, method } = message;
    const isAnswer = id !== undefined && method === undefined;
    const key = JSON.stringify(id);
    const traceId = isAnswer ? this.#traces.get(key) : undefined;
    const judged = await this.#judge.incoming(text, traceId);
    if (isAnswer) this.#traces.delete(key);
    if ('text' in judged) return write(this.#client, judged.text);
    // The id of an answer that nobody waits for may give the orders itself.
    if (traceId !== undefined) return this.#refuse(this.#client, id, judged.refusal);
    // A request of the server is answered, or it would wait for ever.
    if (id !== undefined && !isAnswer) await this.#refuse(this.#server, id, judged.refusal);
    note(`postern: ${printable(judged.refusal.message)}`);
  }

  #remember(id: unknown, traceId: string): void {
    if (this.#traces.size >= openRequestsMax) this.#traces.delete(this.#traces.keys().next().value ?? '');
    this.#traces.set(JSON.stringify(id), traceId);
  }

  #refuse(to: Writable, id: unknown, { message, data }: Refusal, code = refusedError): Promise<void> {
    return write(to, JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } }));
  }
}

/**
 * Returns the message; undefined for a text that is none of JSON-RPC 2.0. Some servers do without a version,
 * but the gateway tells messages by it. A batch has neither id nor method of its own.
 */
function parsed(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value.every(isMessage) ? {} : undefined;
    return isMessage(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false;
  const { jsonrpc, id, method }: Message & { readonly jsonrpc?: unknown } = value;
  if (jsonrpc !== '2.0' || !isId(id)) return false;
  if (method !== undefined) return typeof method === 'string';
  return id !== undefined && ('result' in value || 'error' in value);
}

const isId = (id: unknown): boolean =>
  typeof id === 'string' ? id.length <= idLengthMax : typeof id === 'number' || (id ?? null) === null;

/**
 * Writes a message on a line of its own, and waits until it is on its way or cannot be. Some readers end a
 * line at a carriage return, and would find another message behind it.
 */
async function write(to: Writable, text: string): Promise<void> {
  if (to.destroyed || to.writableEnded) return;
  await new Promise<void>((done) => to.write(`${text.replaceAll(/[\r\n]/g, ' ')}\n`, () => done()));
}

async function* linesOf(from: Readable): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let length = 0;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      yield Buffer.concat([...held, chunk.subarray(start, end)]);
      held = [];
      length = 0;
      start = end + 1;
    }
    held.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > messageBytesMax) throw new Error(`a message is longer than ${messageBytesMax} bytes.`);
  }
}
