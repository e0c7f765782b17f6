import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { createUnreadAnswers, unreadOfCallerMax } from '../../src/api/unread-answers.ts';
import { toGatewayError } from '../../src/core/errors.ts';
import { until } from '../support/redis.ts';

const long = Buffer.alloc(unreadOfCallerMax / 4, 'x');

/** A server of long answers. The path names the caller; `ask` reads nothing of an answer but its status, and `taken` is told when all was. */
async function startLab(t: Test, patience?: Parameters<typeof createUnreadAnswers>[0]) {
  const unread = createUnreadAnswers(patience);
  const server = createServer((request, response) => {
    try {
      unread.hold(response, request.url ?? '', long.length);
      response.end(long);
    } catch (error) {
      response.writeHead(503).end(toGatewayError(error).code);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask = async (path: string) => {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    return { socket, status: Number(first.toString('latin1', 9, 12)) };
  };
  const connections = promisify(server.getConnections.bind(server));
  return { ask, connections };
}

t.test('so much may wait for one caller, and what was read makes room', async (t) => {
  const { ask } = await startLab(t);
  const asked = await Promise.all(Array.from({ length: 4 }, () => ask('/one')));
  t.same(
    asked.map((it) => it.status),
    [200, 200, 200, 200],
  );
  t.equal((await ask('/one')).status, 503);
  t.equal((await ask('/another')).status, 200, 'of another caller nothing waits');
  const [first] = asked;
  first?.socket.resume();
  if (first) await once(first.socket, 'close');
  await until('there is room', async () => (await ask('/one')).status === 200);
});

t.test('a client that goes leaves its room, and one that reads nothing is cut off', async (t) => {
  const { ask, connections } = await startLab(t, { graceMs: 200, bytesPerSecondMin: 1e9 });
  const asked = await Promise.all(Array.from({ length: 4 }, () => ask('/one')));
  asked[0]?.socket.destroy();
  await until('there is room', async () => (await ask('/one')).status === 200);
  await until('all are cut off', async () => (await connections()) === 0);
  t.equal((await ask('/one')).status, 200);
});
