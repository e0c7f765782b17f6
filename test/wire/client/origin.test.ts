import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import net, { type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { parseTarget } from '../../../src/core/target.ts';
import type { Connection } from '../../../src/wire/client/connection.ts';
import { createDeadlines } from '../../../src/wire/client/deadlines.ts';
import { ConnectionOrigin } from '../../../src/wire/client/origin.ts';
import { createTurnEnd } from '../../../src/wire/http1/turn-end.ts';
import { testAuthority } from '../../support/certificates.ts';
import { startRawUpstream, startUpstream, type TestUpstream } from '../../support/upstream.ts';
import { type Front, openFront, outgoing } from './front.ts';

const ok = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** A request that its client can drop; resolves once the front has handed it on. */
async function begin(front: Front, url: string): Promise<http.ClientRequest> {
  const forwarded = once(front.events, 'forwarded');
  const request = http.request({ port: front.port, host: '127.0.0.1', path: url, agent: false });
  request.on('error', () => {});
  request.end();
  await forwarded;
  return request;
}

/** An upstream that answers when it is told to; `waiting` holds what it was asked. */
async function startHolding(t: Parameters<typeof startUpstream>[0]) {
  const waiting: { url: string; answer: () => void }[] = [];
  const events = new EventEmitter();
  const upstream = await startUpstream(t, (request, response) => {
    waiting.push({ url: request.url ?? '', answer: () => response.end('answered') });
    events.emit('asked');
  });
  const asked = async (count: number) => {
    while (waiting.length < count) await once(events, 'asked');
  };
  return { ...upstream, waiting, asked };
}

/** An upstream in a thread of its own, which can answer while this one is still busy. */
async function startElsewhere(t: Parameters<typeof startUpstream>[0]) {
  const { certPem: cert, keyPem: key } = testAuthority().issue();
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    let connections = 0;
    const server = require('node:tls').createServer(workerData, (socket) => {
      connections++;
      socket.on('error', () => socket.destroy());
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n'));
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
    parentPort.on('message', () => parentPort.postMessage(connections));
  `;
  const worker = new Worker(code, { eval: true, workerData: { cert, key } });
  t.teardown(async () => void (await worker.terminate()));
  const [port] = await once(worker, 'message');
  const connections = async () => {
    worker.postMessage('count');
    const [count] = await once(worker, 'message');
    return count;
  };
  return { port, connections };
}

t.test('opens no more connections than allowed, and serves those that wait in their order', async (t) => {
  const upstream = await startHolding(t);
  const front = await openFront(t, { connectionsMax: 2 });
  const answers: Promise<unknown>[] = [];
  for (const number of [1, 2, 3, 4, 5]) {
    const forwarded = once(front.events, 'forwarded');
    answers.push(front.ask(`${upstream.origin}/${number}`, { method: 'POST' }));
    await forwarded;
  }
  for (let served = 0; served < 5; served++) {
    await upstream.asked(Math.min(served + 2, 5));
    t.ok(upstream.waiting.length <= served + 2, 'never more than two at once');
    upstream.waiting[served]?.answer();
    await answers[served];
  }
  t.match(await Promise.all(answers), new Array(5).fill({ status: 200, body: 'answered' }));
  t.equal(upstream.connections(), 2);
  t.same(
    upstream.waiting.slice(2).map(({ url }) => url),
    ['/3', '/4', '/5'],
  );
});

t.test('lets only so many requests wait for an upstream', async (t) => {
  const upstream = await startHolding(t);
  const front = await openFront(t, { connectionsMax: 1, waitingMax: 2 });
  const requests: http.ClientRequest[] = [];
  for (const number of [1, 2, 3]) requests.push(await begin(front, `${upstream.origin}/${number}`));
  t.match(await front.ask(`${upstream.origin}/4`), { status: 503, code: 'GATEWAY_BUSY' });

  const ended = once(front.events, 'end');
  requests[1]?.destroy();
  t.match(await ended, [{ status: 0, aborted: true }]);
  const fifth = front.ask(`${upstream.origin}/5`);
  await upstream.asked(1);
  upstream.waiting[0]?.answer();
  await upstream.asked(2);
  upstream.waiting[1]?.answer();
  await upstream.asked(3);
  upstream.waiting[2]?.answer();
  t.match(await fifth, { status: 200 }, 'the place of one that left is free at once');
  t.same(
    upstream.waiting.map(({ url }) => url),
    ['/1', '/3', '/5'],
    'and it is never sent',
  );
});

t.test('keeps its connection where answers come before it is known that the request was sent', async (t) => {
  const upstream = await startElsewhere(t);
  const front = await openFront(t, { connectionsMax: 1 });
  const answers = Array.from({ length: 200 }, () => front.ask(`https://localhost:${upstream.port}/`));
  for (const { status } of await Promise.all(answers)) t.equal(status, 200);
  t.equal(await upstream.connections(), 1);
});

t.test('keeps a connection that was opened for a request that is over', async (t) => {
  const upstream = await startUpstream(t);
  const front = await openFront(t);
  const request = await begin(front, `${upstream.origin}/`);
  const ended = once(front.events, 'end');
  request.destroy();
  await ended;
  t.match(await front.ask(`${upstream.origin}/`), { status: 200 });
  t.same(
    upstream.requests.map(({ connection }) => connection),
    [1],
    'the abandoned request was not sent, and its connection serves the next',
  );
  t.equal(upstream.connections(), 1);
});

t.test('prefers the connection that was used last', async (t) => {
  const upstream = await startHolding(t);
  const front = await openFront(t);
  const pair = [front.ask(`${upstream.origin}/1`), front.ask(`${upstream.origin}/2`)];
  await upstream.asked(2);
  for (const [i, answer] of pair.entries()) {
    const url = `/${i + 1}`;
    upstream.waiting.find((it) => it.url === url)?.answer();
    await answer;
  }
  const last = upstream.requests.find(({ url }) => url === '/2')?.connection;
  for (const count of [3, 4]) {
    const next = front.ask(`${upstream.origin}/next`);
    await upstream.asked(count);
    upstream.waiting[count - 1]?.answer();
    await next;
    t.equal(upstream.requests[count - 1]?.connection, last);
  }
});

t.test('fails every request that waits for an upstream that is not there', async (t) => {
  const gone = await startUpstream(t);
  await gone.close();
  const front = await openFront(t, { connectionsMax: 2 });
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => front.ask(`${gone.origin}/`)));
  for (const answer of answers) t.match(answer, { status: 502, code: 'UPSTREAM_UNREACHABLE' });
});

t.test('fails a request whose upstream speaks first or hangs up at once', async (t) => {
  for (const greet of [(socket: Socket) => socket.write('220 mail\r\n'), (socket: Socket) => socket.end()]) {
    const upstream = await startRawUpstream(t, greet, { tls: false });
    const front = await openFront(t);
    t.match(await front.ask(`${upstream.origin}/`), { status: 502, code: /^UPSTREAM_/ });
    t.equal(upstream.connections(), 1);
  }
});

t.test('repeats a request on a fresh connection when a kept one was closed under it', async (t) => {
  const closings = {
    'in order': (socket: Socket) => socket.end(),
    'with a reset': (socket: Socket) => socket.resetAndDestroy(),
  };
  const headers = { 'Content-Length': 5 };
  const fresh = { status: 200, body: 'fresh' };
  const failed = { status: 502, code: 'UPSTREAM_UNREACHABLE', detail: 'before it answered' };
  for (const [name, close] of Object.entries(closings)) {
    for (const { method, want } of [
      { method: 'GET', want: fresh },
      { method: 'PUT', want: fresh },
      { method: 'DELETE', want: fresh },
      { method: 'POST', want: failed },
      { method: 'PATCH', want: failed },
    ]) {
      const received: string[] = [];
      const upstream = await startRawUpstream(
        t,
        (socket, number) => {
          socket.once('data', (first) => {
            if (number > 1) received.push(first.toString('latin1'));
            socket.write(ok(number === 1 ? 'first' : 'fresh'));
            socket.once('data', () => close(socket));
          });
        },
        { tls: false },
      );
      const front = await openFront(t);
      t.match(await front.ask(`${upstream.origin}/`), { body: 'first' });
      t.match(
        await front.ask(`${upstream.origin}/x`, { method, headers, body: 'again' }),
        want,
        `${method} ${name}`,
      );
      t.equal(received.length, want === fresh ? 1 : 0);
      if (want === fresh) t.match(received[0], new RegExp(`^${method} /x HTTP[^]*\r\n\r\nagain$`));
    }
  }
});

t.test('repeats on a fresh connection although there are more kept ones', async (t) => {
  let isOver = false;
  const held: (() => void)[] = [];
  const events = new EventEmitter();
  const upstream = await startRawUpstream(t, (socket, number) => {
    socket.on('data', () => {
      if (isOver && number < 3) return void socket.destroy();
      if (number > 2) return void socket.write(ok('fresh'));
      held.push(() => socket.write(ok('kept')));
      return void events.emit('held');
    });
  });
  const front = await openFront(t, { connectionsMax: 2 });
  const pair = [front.ask(`${upstream.origin}/`), front.ask(`${upstream.origin}/`)];
  while (held.length < 2) await once(events, 'held');
  for (const answer of held) answer();
  await Promise.all(pair);
  isOver = true;
  t.match(await front.ask(`${upstream.origin}/`), { status: 200, body: 'fresh' });
  t.equal(upstream.connections(), 3);
});

t.test(
  'repeats a request once, never on a first connection, and never one that was answered in part',
  async (t) => {
    const cases = [
      // The answer to the first request, what the later ones meet, and the connections that this takes.
      { name: 'a connection of its own', first: undefined, later: '', connections: 1 },
      { name: 'two closed connections', first: ok('first'), later: '', connections: 2 },
      { name: 'the beginning of a head', first: ok('first'), later: 'HTTP/1.1 2', connections: 1 },
      {
        name: 'an interim answer',
        first: ok('first'),
        later: 'HTTP/1.1 100 Continue\r\n\r\n',
        connections: 1,
      },
    ];
    for (const { name, first, later, connections } of cases) {
      let asked = 0;
      const upstream = await startRawUpstream(t, (socket) => {
        socket.on('data', () => {
          if (asked++ === 0 && first !== undefined) socket.write(first);
          else socket.end(later);
        });
      });
      const front = await openFront(t);
      if (first !== undefined) t.match(await front.ask(`${upstream.origin}/`), { status: 200 });
      t.match(await front.ask(`${upstream.origin}/`), { status: 502, code: 'UPSTREAM_UNREACHABLE' }, name);
      t.equal(upstream.connections(), connections, name);
    }
  },
);

t.test('does not repeat on a kept connection that is free before the fresh one stands', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => socket.on('data', () => socket.write(ok(''))), {
    tls: false,
  });
  const deadlines = createDeadlines(60_000, () => {});
  t.teardown(() => deadlines.close());
  const events = new EventEmitter();
  const stand: (() => void)[] = [];
  const dial = () =>
    new Promise<Socket>((resolve) => {
      const socket = net.connect(upstream.port, '127.0.0.1', () => {
        t.teardown(() => socket.destroy());
        stand.push(() => resolve(socket));
        events.emit('dialled');
      });
    });
  const idleChanged = () => {};
  const shared = { deadlines, turnEnd: createTurnEnd(), connectionsMax: 2, keptMs: 30_000, idleChanged };
  const origin = new ConnectionOrigin(shared, dial);
  const request = (name: string, needsFresh: boolean) => ({
    agentId: 'bot',
    needsFresh,
    sendOn: (connection: Connection) => void events.emit(name, connection),
    fail: (error: Error) => t.fail(error.message),
  });

  const [dialled, first] = [once(events, 'dialled'), once(events, 'first')];
  origin.dispatch(request('first', false));
  await dialled;
  stand[0]?.();
  const [kept] = (await first) as [Connection];
  const [dialledAgain, repeated, other] = [
    once(events, 'dialled'),
    once(events, 'repeated'),
    once(events, 'other'),
  ];
  origin.repeat(request('repeated', true));
  origin.dispatch(request('other', false));
  await dialledAgain;
  kept.ask(outgoing, {
    onSwitch() {},
    onHead() {},
    onData() {},
    onEnd() {},
    onFailure: () => t.fail('The first request failed.'),
  });
  t.equal((await other)[0], kept, 'it serves the next in line that may have it');
  stand[1]?.();
  t.not((await repeated)[0], kept);
});

t.test('lets go of the body of a request that is over, though its client keeps the forwarding', async (t) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const upstream = await startHolding(t);
  const front = await openFront(t, { connectionsMax: 1 });
  await begin(front, `${upstream.origin}/first`);
  const target = parseTarget(`${upstream.origin}/second`);
  const response = new http.ServerResponse(new http.IncomingMessage(null as never));
  let body: Buffer | undefined = Buffer.alloc(1_000_000);
  const reference = new WeakRef(body);
  const forwarding = front.upstream.forward(
    { tenantId: 'acme', agentId: 'bot', target, method: 'POST', headers: ['Host', 'x'], body },
    { response, extraHeaders: [], onError: (error) => t.fail(error.message) },
  );
  body = undefined;
  await nextTurn();
  collectGarbage();
  t.ok(reference.deref(), 'it is held while it waits');
  forwarding.abort();
  await nextTurn();
  collectGarbage();
  t.notOk(reference.deref());
  forwarding.abort();
});

t.test('dials for nobody once it is destroyed', async (t) => {
  const upstream = await startHolding(t);
  const front = await openFront(t, { connectionsMax: 1 });
  const requests = [1, 2, 3].map((number) => front.ask(`${upstream.origin}/${number}`));
  await upstream.asked(1);
  while (front.forwardings.length < 3) await once(front.events, 'forwarded');
  upstream.waiting[0]?.answer();
  await upstream.asked(2);
  front.upstream.destroy();
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  t.same(statuses.sort(), [200, 503, 503]);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  t.equal(upstream.connections(), 1);
});

t.test('serves those that wait while it closes', async (t) => {
  const upstream = await startHolding(t);
  const front = await openFront(t, { connectionsMax: 1 });
  const answers = [1, 2].map((number) => front.ask(`${upstream.origin}/${number}`));
  await upstream.asked(1);
  while (front.forwardings.length < 2) await once(front.events, 'forwarded');
  const closed = front.upstream.close();
  upstream.waiting[0]?.answer();
  await upstream.asked(2);
  upstream.waiting[1]?.answer();
  t.match(await Promise.all(answers), new Array(2).fill({ status: 200, body: 'answered' }));
  await closed;
});

t.test('keeps no connection once it closes', async (t) => {
  const events = new EventEmitter();
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('close', () => events.emit('close'));
    socket.on('data', (data) => {
      if (data.includes('/held')) events.emit('held', socket);
      else socket.write(ok(''));
    });
  });
  const front = await openFront(t);
  const isHeld = once(events, 'held');
  const held = front.ask(`${upstream.origin}/held`);
  const [socket] = (await isHeld) as [Socket];
  await front.ask(`${upstream.origin}/`);
  t.equal(upstream.connections(), 2);

  const idleClosed = once(events, 'close');
  const closed = front.upstream.close();
  await idleClosed;
  const heldClosed = once(events, 'close');
  socket.write(ok('held'));
  t.match(await held, { body: 'held' });
  await closed;
  await heldClosed;
  t.pass('both are closed');
});

t.test('of the connections of all hosts only so many wait for their next request', async (t) => {
  const upstreams: TestUpstream[] = [];
  for (let count = 0; count < 4; count++)
    upstreams.push(await startUpstream(t, (_request, response) => void response.end('ok'), { tls: false }));
  const front = await openFront(t, { idleMax: 3 });
  const ask = async (at: number) =>
    t.equal((await front.ask(`${upstreams[at]?.origin}/x`)).body, 'ok', `host ${at}`);
  for (const at of [0, 1, 2, 3, 3, 2, 1]) await ask(at);
  t.same(
    upstreams.map((it) => it.connections()),
    [1, 1, 1, 1],
    'those that were used last are kept',
  );
  await ask(0);
  t.equal(upstreams[0]?.connections(), 2, 'the one that was used longest ago gave way');
  await Promise.all(Array.from({ length: 20 }, () => ask(1)));
  await Promise.all([0, 1, 2, 3].map(ask));
});
