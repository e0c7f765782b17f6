import { once } from 'node:events';
import { Socket } from 'node:net';
import t from 'tap';
import { type ConnectionBounds, createConnections } from '../../src/http/connections.ts';

const bounds: ConnectionBounds = { perAgent: 1000, perTenant: null, isShared: true };
const ownerOf = (agentId: string, tenantId = 'acme') => ({ tenantId, agentId });
const busy = { code: 'GATEWAY_BUSY' };

t.test('a connection counts once for each agent, in whatever order they come', async (t) => {
  const connections = createConnections(() => 100);
  const [first, second, third] = [new Socket(), new Socket(), new Socket()];
  const one = { ...bounds, perAgent: 1 };
  for (let i = 0; i < 100; i++) {
    connections.claim(first, ownerOf('a'), one);
    connections.claim(first, ownerOf('b'), one);
  }
  t.equal(first.listenerCount('close'), 1);
  t.throws(() => connections.claim(second, ownerOf('a'), one), busy);
  first.emit('close');
  connections.claim(second, ownerOf('a'), one);
  connections.claim(second, ownerOf('b'), one);
  t.throws(() => connections.claim(third, ownerOf('b'), one), busy);
});

t.test('agents of one tenant together hold no more than it may', async (t) => {
  const connections = createConnections(() => 100);
  const two = { ...bounds, perTenant: 2 };
  const first = new Socket();
  connections.claim(first, ownerOf('a'), two);
  connections.claim(new Socket(), ownerOf('b'), two);
  t.throws(() => connections.claim(new Socket(), ownerOf('c'), two), busy);
  connections.claim(new Socket(), ownerOf('d', 'other'), two);
  first.emit('close');
  connections.claim(new Socket(), ownerOf('c'), two);
});

t.test('however many tenants take what they get, another one finds room', async (t) => {
  const max = 100;
  const connections = createConnections(() => max);
  /** Opens connections of a tenant, each of an agent of its own, until there is no place. */
  const fill = (tenantId: string): number => {
    for (let held = 0; held <= max; held++) {
      const socket = new Socket();
      try {
        if (connections.arrive(socket)) throw new Error('full');
        connections.claim(socket, ownerOf(`${tenantId} ${held}`, tenantId), bounds);
      } catch {
        socket.emit('close');
        return held;
      }
    }
    return max;
  };
  const held = ['a', 'b', 'c', 'd'].map(fill);
  t.same(held, [50, 25, 13, 6]);
});

t.test('a tenant alone may have all of them', async (t) => {
  const connections = createConnections(() => 10);
  for (let i = 0; i < 10; i++) {
    const socket = new Socket();
    t.equal(connections.arrive(socket), undefined);
    connections.claim(socket, ownerOf(`${i}`), { ...bounds, isShared: false });
  }
  t.match(connections.arrive(new Socket()), busy);
  t.throws(() => connections.claim(new Socket(), ownerOf('stream'), { ...bounds, isShared: false }), busy);
});

t.test(
  'an address that says nothing leaves room for others, and counts no more once it is known',
  async (t) => {
    const connections = createConnections(() => 10);
    const come = (address: string | undefined): Socket | undefined => {
      const socket = new Socket();
      if (!(connections.arrive(socket) ?? connections.comeFrom(socket, address))) return socket;
      socket.emit('close');
      return undefined;
    };
    const held = Array.from({ length: 10 }, (_, i) => come(`2001:db8::${i + 1}`)).filter(
      (it) => it !== undefined,
    );
    t.equal(held.length, 5, 'all of one network together');
    t.ok(come('192.0.2.1'));
    t.notOk(come('2001:db8::ff'));
    for (const socket of held.slice(0, 3)) connections.claim(socket, ownerOf('a'), bounds);
    t.ok(come('2001:db8::ff'), 'what has an owner counts for no address');
    t.notOk(come('2001:db8::fe'));
    for (let i = 0; i < 3; i++) t.ok(come(undefined), 'what many share counts for none');
    t.notOk(come(undefined), 'and all count for all');
  },
);

t.test('a claim that is released leaves nothing behind', async (t) => {
  const connections = createConnections(() => 100);
  const one = { ...bounds, perAgent: 1, perTenant: 1 };
  const [shared, other] = [new Socket(), new Socket()];
  connections.claim(shared, ownerOf('a'), one);
  connections.release(shared, ownerOf('a'));
  connections.claim(other, ownerOf('a'), one);
  shared.emit('close');
  t.throws(() => connections.claim(new Socket(), ownerOf('a'), one), busy);
});

t.test('what closes before it is claimed counts for nobody', async (t) => {
  const connections = createConnections(() => 4);
  const one = { ...bounds, perAgent: 1, perTenant: 1 };
  for (let i = 0; i < 20; i++) {
    const socket = new Socket();
    const secured = new Socket();
    t.equal(connections.arrive(socket), undefined);
    if (i % 2 === 0) connections.alias(socket, secured);
    socket.emit('close');
    connections.alias(socket, secured);
    t.equal(connections.comeFrom(socket, '192.0.2.1'), undefined);
    t.equal(connections.comeFrom(secured, '192.0.2.1'), undefined);
    connections.claim(socket, ownerOf('a'), one);
    connections.claim(secured, ownerOf('a'), one);
  }
  const [last, next] = [new Socket(), new Socket()];
  t.equal(connections.arrive(last) ?? connections.comeFrom(last, '192.0.2.1'), undefined);
  connections.claim(last, ownerOf('a'), one);
  t.throws(() => connections.claim(next, ownerOf('a'), one), busy, 'and what is open still counts');
});

t.test('what is destroyed when it is first seen takes no place', async (t) => {
  const connections = createConnections(() => 2);
  const one = { ...bounds, perAgent: 1 };
  const gone = async (): Promise<Socket> => {
    const socket = new Socket().destroy();
    await once(socket, 'close');
    return socket;
  };
  for (let i = 0; i < 5; i++) {
    connections.claim(await gone(), ownerOf('a'), one);
    t.equal(connections.arrive(await gone()), undefined);
    connections.claim(new Socket().destroy(), ownerOf('a'), one);
  }
  connections.claim(new Socket(), ownerOf('a'), one);
  t.equal(connections.arrive(new Socket()), undefined);
  t.match(connections.arrive(new Socket()), busy);
});
