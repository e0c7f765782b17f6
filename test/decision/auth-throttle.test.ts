import t from 'tap';
import { addressesMax, createAuthThrottle, createAuthThrottles } from '../../src/decision/auth-throttle.ts';

/** How many failures an address may have before it is held up. */
function failuresUntilLimited(throttle: ReturnType<typeof createAuthThrottle>, address: string): number {
  for (let failures = 0; failures < 1000; failures++) {
    try {
      throttle.check(address, 0);
    } catch {
      return failures;
    }
    throttle.failed(address, 0);
  }
  return Infinity;
}

t.test('an address that fails too often is held up, until its bucket has filled a little', async (t) => {
  const throttle = createAuthThrottle();
  t.equal(failuresUntilLimited(throttle, '192.0.2.1'), 60);
  t.throws(() => throttle.check('192.0.2.1', 0), { code: 'RATE_LIMITED', extra: { retryAfterSeconds: 2 } });
  t.throws(() => throttle.failed('192.0.2.1', 0), { code: 'RATE_LIMITED' }, 'one failure more says the same');
  t.doesNotThrow(() => throttle.check('192.0.2.1', 2000));
  t.doesNotThrow(() => throttle.check('192.0.2.2', 0), 'another address is not meant');
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
  for (let i = 0; i < 60; i++) throttle.failed(address, 0, 'one');
  t.throws(() => throttle.failed('2001:db8:1:2::2', 0, 'one'), { code: 'RATE_LIMITED' });
  t.doesNotThrow(() => throttle.failed(address, 0, 'other'));
  t.doesNotThrow(() => throttle.failed(address, 0), 'nor does the address count with them');
});

t.test('each failure that counts is told, the last before an address is held up as such', async (t) => {
  const told: object[] = [];
  const { keys, adminSecret, routeTokens, signIns } = createAuthThrottles(30, (it) => told.push(it));
  for (const throttle of [keys, keys, adminSecret, signIns]) throttle.failed('192.0.2.1', 0);
  t.throws(() => keys.failed('192.0.2.1', 0), { code: 'RATE_LIMITED' });
  routeTokens.failed('192.0.2.2', 0, 'one');
  t.strictSame(told, [
    { address: '192.0.2.1', keyId: undefined, isLast: false },
    { address: '192.0.2.1', keyId: undefined, isLast: true },
    { address: '192.0.2.2', keyId: 'one', isLast: false },
  ]);
});

t.test('beyond the bound the address that has not failed for longest is forgotten', async (t) => {
  const throttle = createAuthThrottle();
  failuresUntilLimited(throttle, 'a');
  failuresUntilLimited(throttle, 'b');
  for (let i = 0; i < addressesMax - 1; i++) throttle.failed(`address ${i}`, 0);
  t.doesNotThrow(() => throttle.check('a', 0));
  t.throws(() => throttle.check('b', 0), { code: 'RATE_LIMITED' });
});
