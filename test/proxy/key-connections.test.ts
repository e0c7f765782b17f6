import { Socket } from 'node:net';
import t from 'tap';
import { createKeyConnections } from '../../src/proxy/key-connections.ts';

t.test('a connection counts once for each key, in whatever order they come', async (t) => {
  const connections = createKeyConnections();
  const [first, second, third] = [new Socket(), new Socket(), new Socket()];
  for (let i = 0; i < 100; i++) {
    connections.claim(first, 'a', 1);
    connections.claim(first, 'b', 1);
  }
  t.equal(first.listenerCount('close'), 1);
  t.throws(() => connections.claim(second, 'a', 1), { code: 'GATEWAY_BUSY' });
  first.emit('close');
  connections.claim(second, 'a', 1);
  connections.claim(second, 'b', 1);
  t.throws(() => connections.claim(third, 'b', 1), { code: 'GATEWAY_BUSY' });
});
