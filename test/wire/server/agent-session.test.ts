import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { GatewayError } from '../../../src/core/errors.ts';
import { createAgentConnections } from '../../../src/wire/server/agent-connections.ts';
import type { Exchange } from '../../../src/wire/server/exchange.ts';
import { answerProblem } from '../../../src/wire/server/problem.ts';

const limits = {
  maxHeaderBytes: 65_536,
  maxHeaders: 200,
  headerTimeoutMs: 5_000,
  bodyTimeoutMs: 5_000,
  idleTimeoutMs: 5_000,
};

const answer = (exchange: Exchange): void =>
  answerProblem(exchange, new GatewayError('NOT_FOUND', 'There is nothing here.'), []);

/** Serves HTTP/2 without TLS, and returns what connects to it. */
async function serve(t: Test, onExchange: (exchange: Exchange) => void) {
  const agents = createAgentConnections(() => limits);
  const server = createServer((socket) =>
    agents.serve(Object.assign(socket, { alpnProtocol: 'h2' }), onExchange),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sessions: ClientHttp2Session[] = [];
  t.teardown(() => {
    for (const it of sessions) it.destroy();
    server.close();
    agents.close();
  });
  const session = async () => {
    const made = connect('http://agent.example', { createConnection: () => dial(port, '127.0.0.1') });
    sessions.push(made);
    await once(made, 'remoteSettings');
    return made;
  };
  return { port, session };
}

t.test('streams of one connection begin a few at a time, and those of others in between', async (t) => {
  let turn = 0;
  let isCounting = true;
  const count = (): void => {
    turn += 1;
    if (isCounting) setImmediate(count);
  };
  count();
  t.teardown(() => {
    isCounting = false;
  });
  const begun: { readonly path: string; readonly turn: number }[] = [];
  const { session } = await serve(t, (exchange) => {
    begun.push({ path: exchange.target, turn });
    answer(exchange);
  });
  const [busy, other] = [await session(), await session()];
  const asked = Array.from({ length: 90 }, (_, at) => busy.request({ ':path': `/busy/${at}` }));
  asked.push(other.request({ ':path': '/other' }));
  await Promise.all(asked.map((it) => once(it.resume(), 'end')));
  t.equal(begun.length, 91);
  const inTurn = Object.values(Object.groupBy(begun, (it) => it.turn)).map((it) => it?.length ?? 0);
  t.ok(Math.max(...inTurn) <= 16, `at most ${Math.max(...inTurn)} in one turn`);
  const place = begun.findIndex((it) => it.path === '/other');
  t.ok(place < 90, `the other connection's stream is number ${place}`);
});

/** A frame of HTTP/2 (RFC 9113, 4.1). */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Fields as literals without an index (RFC 7541, 6.2.2). */
const toBlock = (fields: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  );

t.test('a stream that the client resets before its turn is no request', async (t) => {
  const begun: string[] = [];
  const { port } = await serve(t, (exchange) => {
    begun.push(exchange.target);
    answer(exchange);
  });
  const socket = dial(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const request = (stream: number, path: string): Buffer =>
    frame(
      ...([1, 5, stream] as const),
      toBlock({ ':method': 'GET', ':scheme': 'http', ':authority': 'agent.example', ':path': path }),
    );
  const cancel = Buffer.from([0, 0, 0, 8]);
  const resets = Array.from({ length: 50 }, (_, at) => 2 * at + 1).flatMap((stream) => [
    request(stream, `/reset/${stream}`),
    frame(3, 0, stream, cancel),
  ]);
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.concat([preface, frame(4, 0, 0, Buffer.alloc(0)), ...resets, request(101, '/last')]));
  while (!begun.includes('/last')) await sleep(10);
  t.strictSame(begun, ['/last']);
});
