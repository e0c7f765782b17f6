import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { holdBack } from '../../../src/wire/server/hold-back.ts';

/** Both ends of a connection on loopback. */
async function pair(t: Test): Promise<[here: Socket, there: Socket]> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const there = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [here] = (await once(server, 'connection')) as [Socket];
  t.teardown(() => {
    here.destroy();
    there.destroy();
    server.close();
  });
  return [here, there];
}

t.test('what one turn writes goes out at its end, in its order', async (t) => {
  const [here, there] = await pair(t);
  for (const part of ['a', 'b', 'c']) {
    holdBack(here);
    here.write(part);
  }
  t.equal(here.writableLength, 3, 'not before');
  const [first] = await once(there, 'data');
  t.equal(String(first), 'abc', 'together');
  t.equal(here.writableCorked, 0);
  holdBack(here);
  here.write('d');
  t.equal(String((await once(there, 'data'))[0]), 'd', 'and so does the next turn');
});

t.test('a socket that ends keeps nothing back', async (t) => {
  const [here, there] = await pair(t);
  holdBack(here);
  here.write('last words');
  here.end();
  t.equal(await text(there), 'last words');
});

t.test('a socket that is destroyed meanwhile harms no other', async (t) => {
  const [[gone], [here, there]] = [await pair(t), await pair(t)];
  for (const socket of [gone, here]) {
    holdBack(socket);
    socket.write('x');
  }
  gone.destroy();
  t.equal(String((await once(there, 'data'))[0]), 'x');
});

t.test('a socket that takes no more says so, and when it does again', async (t) => {
  const [here, there] = await pair(t);
  holdBack(here);
  t.equal(here.write(Buffer.alloc(4 * here.writableHighWaterMark)), false);
  there.resume();
  await once(here, 'drain');
  t.equal(here.writableLength, 0);
});
