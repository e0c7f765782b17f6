import t from 'tap';
import { createResolver } from '../../../../src/wire/client/reach/resolve.ts';

const questions: string[] = [];
const lookup = async (host: string) => {
  questions.push(host);
  return [{ address: '192.0.2.1' }, { address: '2001:db8::1' }];
};

t.test('replaces DNS by the first entry that matches', async (t) => {
  const resolver = createResolver({
    lookup,
    resolve: [
      { host: 'exact.internal', address: '10.0.0.1' },
      { host: '*.internal', address: '10.0.0.2', port: 8443 },
      { host: '*', address: 'fd00::1' },
    ],
  });
  t.same(await resolver.resolve('exact.internal', 443), { addresses: ['10.0.0.1'], port: 443 });
  t.same(await resolver.resolve('a.internal', 443), { addresses: ['10.0.0.2'], port: 8443 });
  t.same(await resolver.resolve('a.b.c.internal', 80), { addresses: ['10.0.0.2'], port: 8443 });
  t.same(await resolver.resolve('internal', 443), { addresses: ['fd00::1'], port: 443 });
  t.same(
    await resolver.resolve('10.9.9.9', 443),
    { addresses: ['10.9.9.9'], port: 443 },
    'an address stands for itself',
  );
  t.same(questions, []);
});

t.test('gives all answers in their order', async (t) => {
  const resolver = createResolver({ resolve: [], lookup });
  t.same(await resolver.resolve('a.example', 443), { addresses: ['192.0.2.1', '2001:db8::1'], port: 443 });
  t.same(questions, ['a.example']);
});

t.test('says when a name leads nowhere, and not what the name service said', async (t) => {
  const failing = createResolver({
    resolve: [],
    lookup: () => Promise.reject(new Error('getaddrinfo 10.0.0.53')),
  });
  await t.rejects(failing.resolve('a.example', 443), {
    code: 'UPSTREAM_UNREACHABLE',
    message: 'The host name cannot be resolved.',
  });
  const empty = createResolver({ resolve: [], lookup: async () => [] });
  await t.rejects(empty.resolve('a.example', 443), { code: 'UPSTREAM_UNREACHABLE', message: /no address/ });
});

t.test('uses the name service of the system unless told otherwise', async (t) => {
  const { addresses } = await createResolver({ resolve: [] }).resolve('localhost', 443);
  t.ok(addresses.length > 0);
  t.ok(addresses.every((address) => address === '::1' || address.startsWith('127.')));
});

t.test('does not start with an address that is none', async (t) => {
  t.throws(() => createResolver({ resolve: [{ host: '*', address: 'localhost' }] }), /not an IP address/);
});
