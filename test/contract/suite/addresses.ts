import type { Test } from 'tap';
import type { Lab, Reply, Request } from './lab.ts';
import { proxied } from './tunnel.ts';

/** Authentication 3 and 4: which address a call comes from, and which lists have it. Failures by address. */
export async function addresses(t: Test, lab: Lab): Promise<void> {
  const { mint, admin, api } = await lab.tenant('addresses');
  const from = (forwarded: string, key: string) =>
    lab.call({
      method: 'POST',
      path: '/v1/scan',
      authorization: `Bearer ${key}`,
      body: { method: 'GET', url: 'https://api.partner.test/' },
      headers: { 'x-forwarded-for': forwarded },
    });

  await t.test('Authentication 3, 4: IPv4, IPv6 and mapped addresses', async (t) => {
    const cases: readonly [list: readonly string[], inside: readonly string[], outside: readonly string[]][] =
      [
        [['0.0.0.0/0'], ['8.8.8.8', '2001:db8::1', '::ffff:8.8.8.8'], []],
        [['::/0'], ['2001:db8::1'], []],
        [['192.0.2.0/24'], ['192.0.2.0', '192.0.2.255', '::ffff:192.0.2.7'], ['192.0.3.0', '2001:db8::1']],
        [['192.0.2.7'], ['192.0.2.7'], ['192.0.2.8']],
        [['192.0.2.7/32'], ['192.0.2.7'], ['192.0.2.6']],
        [['192.0.2.129/25'], ['192.0.2.128'], ['192.0.2.127']],
        [['::ffff:192.0.2.0/120'], ['192.0.2.9', '::ffff:192.0.2.9'], ['192.0.3.9']],
        [['2001:db8::/32'], ['2001:db8::1', '2001:DB8:FFFF::'], ['2001:db9::1', '192.0.2.1']],
        [['2001:db8::7'], ['2001:db8:0:0:0:0:0:7'], ['2001:db8::8']],
        [['192.0.2.0/24', '2001:db8::/32'], ['192.0.2.1', '2001:db8::1'], ['198.51.100.1']],
        [[], [], ['192.0.2.1', '127.0.0.1']],
      ];
    for (const [list, inside, outside] of cases) {
      const name = list.join() || 'an empty list';
      const { key, key_id } = await mint({ ip_allowlist: list });
      for (const address of inside) t.equal((await from(address, key)).status, 200, `${name} has ${address}`);
      for (const address of outside)
        t.match(
          await from(address, key),
          { status: 403, body: { code: 'IP_NOT_ALLOWED' } },
          `${name}: ${address}`,
        );
      const { body } = await api('GET', `/v1/keys/${key_id}`);
      t.equal(body.blocked_attempts, outside.length, `${name}: blocked attempts count the rejections`);
    }
    const { key } = await mint();
    for (const address of ['8.8.8.8', '2001:db8::1'])
      t.equal((await from(address, key)).status, 200, `without a list: ${address}`);
  });

  await t.test(
    'Authentication 3: of X-Forwarded-For the rightmost entry outside the trusted proxies counts',
    async (t) => {
      const { key } = await mint({ ip_allowlist: ['192.0.2.0/24'] });
      const cases: Readonly<Record<string, number>> = {
        '192.0.2.1': 200,
        '8.8.8.8, 192.0.2.1': 200,
        '192.0.2.1, 127.0.0.5': 200,
        '192.0.2.1, 8.8.8.8': 403,
        '192.0.2.1, 8.8.8.8, 127.0.0.5': 403,
        '192.0.2.1, rubbish': 403,
        rubbish: 403,
        '': 403,
      };
      for (const [forwarded, status] of Object.entries(cases))
        t.equal((await from(forwarded, key)).status, status, `"${forwarded}": ${status}`);
      const inTunnel = await proxied(lab, 'up.test.example', key, {
        headers: { 'x-forwarded-for': '192.0.2.1' },
      });
      t.match(
        inTunnel,
        { status: 403, body: { code: 'IP_NOT_ALLOWED' } },
        'on the forward proxy it is not believed',
      );
    },
  );

  await t.test(
    'Authentication 3: every endpoint that takes a key refuses it from elsewhere, and counts it',
    async (t) => {
      const { key, key_id } = await mint({ ip_allowlist: ['192.0.2.0/24'] });
      const paths = [
        'GET /v1/usage',
        'GET /v1/keys',
        'POST /v1/scan',
        'POST /v1/scan/response',
        'POST /v1/a2a/scan',
      ];
      paths.push('POST /v1/policies/apply', 'POST /v1/keys/ephemeral', 'GET /inbound/addressed/x');
      for (const name of paths) {
        const [method = '', path = ''] = name.split(' ');
        // Not even what is wrong with its body is told.
        const body = method === 'POST' ? {} : undefined;
        const reply = await lab.call({ method, path, authorization: `Bearer ${key}`, body });
        t.match(reply, { status: 403, body: { code: 'IP_NOT_ALLOWED', reason: 'IP_NOT_ALLOWED' } }, name);
      }
      const { body } = await api('GET', `/v1/keys/${key_id}`);
      t.match(body, { blocked_attempts: paths.length, calls_24h: 0, last_seen: null });
      t.match(await admin('GET', '/v1/usage'), { body: { rate_limit_hits_24h: 0 } }, 'nobody was limited');
    },
  );

  await t.test(
    'Authentication 2: what fails too often from an address waits, and nothing else',
    async (t) => {
      const { key } = await mint();
      const headers = lab.fromElsewhere();
      const failing = async (path: string): Promise<number[]> => {
        const wrong = { method: 'GET', path, authorization: 'Bearer rubbish', headers };
        const statuses: number[] = [];
        while (statuses.length < 200 && !statuses.includes(429))
          statuses.push((await lab.call(wrong)).status);
        return statuses;
      };
      // On a busy machine the wait is over before the next question: then it has to wait again.
      const whileWaiting = async (request: Request): Promise<Reply> => {
        for (let tries = 0; ; tries += 1) {
          const reply = await lab.call(request);
          if (reply.status === 429 || tries === 20) return reply;
          await failing(request.path);
        }
      };
      for (const path of ['/v1/usage', '/inbound/addressed/x']) {
        const asked = (secret: string, from = headers): Request => ({
          method: 'GET',
          path,
          authorization: `Bearer ${secret}`,
          headers: from,
        });
        const ask = (secret: string, from = headers) => lab.call(asked(secret, from));
        const statuses = await failing(path);
        t.same([...new Set(statuses)], [401, 429], `${path}: 401 at first, 429 then`);
        t.ok(statuses.length > 20, 'not after a few mistakes');
        const waiting = await whileWaiting(asked('rubbish'));
        t.match(waiting, { status: 429, body: { code: 'RATE_LIMITED', reason: 'RATE_LIMITED' } });
        t.match(waiting.headers.get('retry-after'), /^[1-9]\d*$/, 'Retry-After');
        t.equal((await ask('rubbish', lab.fromElsewhere())).status, 401, 'another address does not wait');
        t.equal((await ask(key)).status, 200, 'nor does a key that is valid');
      }
      const { status, headers: shown } = await whileWaiting({
        method: 'GET',
        path: '/inbound/addressed/x',
        headers,
      });
      t.match({ status, decision: shown.get('x-service-decision') }, { status: 429, decision: 'DENY' });
      const secret = {
        method: 'GET',
        path: '/v1/usage',
        authorization: `Bearer ${lab.adminSecret}`,
        headers,
      };
      t.match(await whileWaiting(secret), { status: 429 }, 'what may be guessed is not compared any more');
    },
  );
}
