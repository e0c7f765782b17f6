import { once } from 'node:events';
import { Socket } from 'node:net';
import t from 'tap';
import { type ConnectionBounds, Connections, untold } from '../../../src/wire/server/connections.ts';

const bounds: ConnectionBounds = { perAgent: 1000, perTenant: null, isShared: true };
const ownerOf = (agentId: string, tenantId = 'acme') => ({ tenantId, agentId });
const busy = { code: 'GATEWAY_BUSY' };

t.test('a connection counts once for each agent, in whatever order they come', async (t) => {
  const connections = new Connections(() => 100);
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
  const connections = new Connections(() => 100);
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
  const connections = new Connections(() => max);
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
  const connections = new Connections(() => 10);
  for (let i = 0; i < 10; i++) {
    const socket = new Socket();
    t.equal(connections.arrive(socket), undefined);
    connections.claim(socket, ownerOf(`${i}`), { ...bounds, isShared: false });
  }
  t.match(connections.arrive(new Socket()), busy);
  t.throws(() => connections.claim(new Socket(), ownerOf('stream'), { ...bounds, isShared: false }), busy);
});

/** Sockets that come from addresses; each closes as those of the network do. */
function startComing(max: number) {
  const connections = new Connections(() => max);
  const come = (address: string | undefined): Socket | undefined => {
    const socket = new Socket();
    if (!(connections.arrive(socket) ?? connections.comeFrom(socket, address))) return socket;
    socket.emit('close');
    return undefined;
  };
  const comeMany = (count: number, address: (nth: number) => string | undefined): Socket[] =>
    Array.from({ length: count }, (_, nth) => come(address(nth))).filter((it) => it !== undefined);
  return { connections, come, comeMany };
}
const areOpen = (sockets: readonly Socket[]): readonly boolean[] => sockets.map((it) => !it.destroyed);
const [no, yes] = [false, true];

t.test('of an address that says nothing the oldest connections give way to its next ones', async (t) => {
  const { connections, come, comeMany } = startComing(16);
  const held = comeMany(6, (nth) => `2001:db8::${nth + 1}`);
  t.same(areOpen(held), [no, no, yes, yes, yes, yes], 'all of one network together have half of 8');
  const others = comeMany(4, () => '192.0.2.1');
  t.same(areOpen(others), [yes, yes, yes, yes], 'and another one as many');
  for (const socket of held.slice(2)) connections.claim(socket, ownerOf('a'), bounds);
  const next = comeMany(5, (nth) => `2001:db8::${nth + 1}`);
  t.same(areOpen(next), [no, yes, yes, yes, yes], 'what has an owner counts for no address');
  t.same(areOpen(held.slice(2)), [yes, yes, yes, yes], 'and gives way to none');
  t.ok(come(undefined), 'what many share counts for none');
});

t.test(
  'strangers of however many addresses leave half of the room, and give way to the next one',
  async (t) => {
    const { connections, come, comeMany } = startComing(16);
    const held = comeMany(20, (nth) => `192.0.2.${nth}`);
    t.equal(held.length, 20);
    t.equal(held.filter((it) => !it.destroyed).length, 8);
    const clients = comeMany(8, () => '198.51.100.1');
    t.same(areOpen(clients), [no, no, no, no, yes, yes, yes, yes], 'those that say nothing do so, too');
    for (let nth = 0; nth < 12; nth++) {
      const socket = come('198.51.100.1');
      t.ok(socket, `client ${nth}`);
      if (socket) connections.claim(socket, ownerOf(`${nth}`), { ...bounds, isShared: false });
      come(`203.0.113.${nth}`);
    }
    const all = comeMany(4, () => undefined);
    t.equal(all.length, 4, 'strangers give way to all who come');
    t.equal(held.filter((it) => !it.destroyed).length, 0);
    t.notOk(come(undefined));
    t.notOk(come('203.0.113.99'));
  },
);

t.test('strangers take nothing from what a tenant may have', async (t) => {
  const { connections, come, comeMany } = startComing(16);
  comeMany(100, (nth) => `192.0.2.${nth}`);
  let held = 0;
  t.throws(() => {
    for (; held < 16; held++) {
      const socket = come('198.51.100.1');
      if (socket) connections.claim(socket, ownerOf(`${held}`), bounds);
      come(`192.0.2.${held}`);
    }
  }, busy);
  t.equal(held, 8, 'half, as without strangers');
});

t.test('a stranger with a request gives way to nobody until that is answered', async (t) => {
  const { connections, come, comeMany } = startComing(4);
  const [first, second] = comeMany(2, (nth) => `192.0.2.${nth}`) as [Socket, Socket];
  t.equal(connections.begin(first), true);
  t.equal(connections.begin(second), true);
  t.notOk(come('192.0.2.9'), 'both have requests');
  t.notOk(come('192.0.2.1'));
  connections.rest(second);
  t.ok(come('192.0.2.9'));
  t.same(areOpen([first, second]), [yes, no]);
  connections.rest(first);
  connections.rest(second);
  connections.claim(first, ownerOf('a'), bounds);
  connections.rest(first);
  t.equal(connections.begin(first), false, 'a client gives way to nobody in any case');
  t.equal(comeMany(5, (nth) => `203.0.113.${nth}`).length, 5);
  t.notOk(first.destroyed);
});

t.test('a stranger whose address is told late waits like the others', async (t) => {
  const { connections, comeMany } = startComing(16);
  const sockets = comeMany(4, () => untold);
  for (const socket of sockets) t.equal(connections.comeFrom(socket, '192.0.2.1'), undefined);
  t.equal(comeMany(4, () => untold).length, 4);
  t.same(areOpen(sockets), [yes, yes, yes, yes]);
  const [check] = comeMany(1, () => untold) as [Socket];
  t.equal(connections.comeFrom(check, undefined), undefined);
  t.equal(connections.begin(check), false, 'what a load balancer says for itself is no stranger');
});

t.test('a claim that is released leaves nothing behind', async (t) => {
  const connections = new Connections(() => 100);
  const one = { ...bounds, perAgent: 1, perTenant: 1 };
  const [shared, other] = [new Socket(), new Socket()];
  connections.claim(shared, ownerOf('a'), one);
  connections.release(shared, ownerOf('a'));
  connections.claim(other, ownerOf('a'), one);
  shared.emit('close');
  t.throws(() => connections.claim(new Socket(), ownerOf('a'), one), busy);
});

t.test('what closes before it is claimed counts for nobody', async (t) => {
  const connections = new Connections(() => 4);
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
  const connections = new Connections(() => 2);
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
