import t from 'tap';
import { addressesMax, createAuthThrottle, createAuthThrottles } from '../../src/decision/auth-throttle.ts';

const wrong = { entrance: 'api', reason: 'unknown' } as const;
const elsewhere = (keyId: string) => ({ entrance: 'forward', reason: 'address', keyId }) as const;

/** How many failures an address may have before it is held up. */
function failuresUntilLimited(throttle: ReturnType<typeof createAuthThrottle>, address: string): number {
  for (let failures = 0; failures < 1000; failures++) {
    try {
      throttle.check(address, 0, 'api');
    } catch {
      return failures;
    }
    throttle.failed(address, 0, wrong);
  }
  return Infinity;
}

t.test('an address that fails too often is held up, until its bucket has filled a little', async (t) => {
  const throttle = createAuthThrottle();
  t.equal(failuresUntilLimited(throttle, '192.0.2.1'), 60);
  t.throws(() => throttle.check('192.0.2.1', 0, 'api'), {
    code: 'RATE_LIMITED',
    extra: { retryAfterSeconds: 2 },
  });
  t.throws(
    () => throttle.failed('192.0.2.1', 0, wrong),
    { code: 'RATE_LIMITED' },
    'one failure more says the same',
  );
  t.doesNotThrow(() => throttle.check('192.0.2.1', 2000, 'api'));
  t.doesNotThrow(() => throttle.check('192.0.2.2', 0, 'api'), 'another address is not meant');
});

const sources = [
  {
    name: 'an IPv4-mapped address is the IPv4 address',
    one: '192.0.2.1',
    other: '::ffff:192.0.2.1',
    same: true,
  },
  {
    name: 'addresses of one /64 count together',
    one: '2001:db8:1:2::1',
    other: '2001:db8:1:2:a:b:c:d',
    same: true,
  },
  { name: 'addresses of two /64 count apart', one: '2001:db8:1:2::1', other: '2001:db8:1:3::1', same: false },
];

for (const { name, one, other, same } of sources) {
  t.test(name, async (t) => {
    const throttle = createAuthThrottle();
    failuresUntilLimited(throttle, one);
    t.equal(failuresUntilLimited(throttle, other) === 0, same);
  });
}

t.test('keys that may not be used from an address count each for itself', async (t) => {
  const throttle = createAuthThrottle();
  const address = '2001:db8:1:2::1';
  for (let i = 0; i < 60; i++) throttle.failed(address, 0, elsewhere('one'));
  t.throws(() => throttle.failed('2001:db8:1:2::2', 0, elsewhere('one')), { code: 'RATE_LIMITED' });
  t.doesNotThrow(() => throttle.failed(address, 0, elsewhere('other')));
  t.doesNotThrow(() => throttle.failed(address, 0, wrong), 'nor does the address count with them');
});

t.test('each failure that counts is told, the last before an address is held up as such', async (t) => {
  const told: object[] = [];
  const counted: string[] = [];
  const { keys, adminSecret, routeTokens, signIns, note } = createAuthThrottles(30, {
    told: (it) => told.push(it),
    counted: (...it) => counted.push(it.join(' ')),
  });
  for (const throttle of [keys, keys, adminSecret]) throttle.failed('192.0.2.1', 0, wrong);
  signIns.take('192.0.2.1', 0);
  t.throws(() => keys.failed('192.0.2.1', 0, wrong), { code: 'RATE_LIMITED' });
  t.throws(() => keys.check('192.0.2.1', 0, 'inbound'), { code: 'RATE_LIMITED' });
  routeTokens.failed('192.0.2.2', 0, elsewhere('one'));
  note('forward', 'missing');
  t.strictSame(told, [
    { address: '192.0.2.1', ...wrong, isLast: false },
    { address: '192.0.2.1', ...wrong, isLast: true },
    { address: '192.0.2.1', ...wrong, isLast: false },
    { address: '192.0.2.2', ...elsewhere('one'), isLast: false },
  ]);
  const unknown = 'api unknown';
  t.strictSame(
    counted,
    [unknown, unknown, unknown, unknown, 'inbound held_up', 'forward address', 'forward missing'],
    'also what came after too many',
  );
});

t.test('beyond the bound the address that has not failed for longest is forgotten', async (t) => {
  const throttle = createAuthThrottle();
  failuresUntilLimited(throttle, 'a');
  failuresUntilLimited(throttle, 'b');
  for (let i = 0; i < addressesMax - 1; i++) throttle.failed(`address ${i}`, 0, wrong);
  t.doesNotThrow(() => throttle.check('a', 0, 'api'));
  t.throws(() => throttle.check('b', 0, 'api'), { code: 'RATE_LIMITED' });
});
