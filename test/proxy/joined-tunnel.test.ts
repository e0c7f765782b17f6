import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { JoinedTunnel } from '../../src/proxy/joined-tunnel.ts';

/** A connection over loopback: what the gateway has of it, and what is at its other end. */
async function startConnection(t: Test): Promise<{ ours: Socket; theirs: Socket }> {
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true });
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  const ours = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [theirs] = (await once(server, 'connection')) as [Socket];
  for (const socket of [ours, theirs]) {
    socket.on('error', () => {});
    t.teardown(() => socket.destroy());
  }
  return { ours, theirs };
}

t.test('an end that is left alone and does not read is cut off', async (t) => {
  const client = await startConnection(t);
  const upstream = await startConnection(t);
  const tunnel = new JoinedTunnel(client.ours, upstream.ours, 'api.test.example');
  const ends: string[] = [];
  const ended = new Promise<void>((resolve) => {
    tunnel.onEnd = (end) => {
      ends.push(end);
      resolve();
    };
  });
  const closed = new Promise<void>((resolve) => {
    tunnel.onClosed = resolve;
  });
  while (upstream.ours.writableLength === 0) {
    client.theirs.write(Buffer.alloc(16_384, 'x'));
    await wait(1);
  }
  client.theirs.resetAndDestroy();
  await ended;
  t.strictSame(ends, ['closed']);
  t.notOk(upstream.ours.destroyed, 'it may take what is on its way');
  const [idleTicks, helloTicks] = [1_000_000, 2];
  for (let tick = 0; tick <= helloTicks + 1; tick++) tunnel.tick(idleTicks, helloTicks);
  t.ok(upstream.ours.destroyed, 'and does not');
  await closed;
  t.strictSame(ends, ['closed'], 'it ended once');
});

t.test('an end that is left alone gets all that was sent to it', async (t) => {
  const client = await startConnection(t);
  const upstream = await startConnection(t);
  const tunnel = new JoinedTunnel(client.ours, upstream.ours, 'api.test.example');
  const closed = new Promise<void>((resolve) => {
    tunnel.onClosed = resolve;
  });
  client.theirs.end('all of it');
  const received = await upstream.theirs.toArray();
  t.equal(Buffer.concat(received).toString(), 'all of it');
  upstream.theirs.end();
  client.theirs.resume();
  await closed;
  t.ok(client.ours.destroyed && upstream.ours.destroyed);
});
