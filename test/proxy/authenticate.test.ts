import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import t from 'tap';
import { newKeyText } from '../../src/core/key-text.ts';
import { basic, openTunnel } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';

t.test(
  'who tries key after key is held up; a good key is not, and asking whether one is needed is no try',
  async (t) => {
    const gateway = await startTestGateway(t);
    const connect = async (authorization?: string) => {
      const { status, headers, socket } = await openTunnel({
        proxyUrl: gateway.proxyUrl,
        authority: 'api.test.example:443',
        ...(authorization === undefined ? {} : { authorization }),
      });
      socket.destroy();
      return { status, headers };
    };
    for (let i = 0; i < 100; i++) t.equal((await connect()).status, 407);
    const statuses: number[] = [];
    for (let i = 0; i < 100; i++) statuses.push((await connect(basic(newKeyText('live')))).status);
    t.equal(statuses[0], 407);
    t.equal(statuses.at(-1), 429);
    const { headers } = await connect(basic('no key at all'));
    t.ok(Number(headers['retry-after']) >= 1);
    t.equal((await connect(basic(gateway.key))).status, 200, 'a good key passes');
    const call = { method: 'GET', url: 'https://api.test.example/' };
    const asked = (key: string) => gateway.api('POST', '/v1/scan', call, `Bearer ${key}`);
    t.equal((await asked(newKeyText('live'))).status, 429, 'the control plane counts with it');
    t.equal((await asked(gateway.key)).status, 200);
    const { key: elsewhere } = await gateway.mint({ ip_allowlist: ['203.0.113.0/24'] });
    for (let i = 0; i < 100; i++) statuses.push((await connect(basic(elsewhere))).status);
    t.equal(statuses.at(-1), 429, 'a key that is good elsewhere is held up, too');
  },
);

t.test(
  'a refused CONNECT says whether a key is missing or wrong, and the log has each wrong one',
  async (t) => {
    const log = join(t.testdir({}), 'log');
    const gateway = await startTestGateway(t, { config: { log: { level: 'warn', file: log } } });
    const detailOf = async (authorization?: string): Promise<unknown> => {
      const { proxyUrl } = gateway;
      const authority = 'api.test.example:443';
      const asked = authorization === undefined ? {} : { authorization };
      const { status, socket } = await openTunnel({ proxyUrl, authority, ...asked });
      t.equal(status, 407);
      return Object(await json(socket)).detail;
    };
    t.match(await detailOf(), /^Send an API key/);
    const wrong = newKeyText('live');
    for (const text of [wrong, 'no key at all']) t.match(await detailOf(basic(text)), /mistyped, revoked/);
    const lines = readFileSync(log, 'utf8');
    t.equal(lines.match(/"client_address":"127\.0\.0\.1".*"msg":"an authentication failed"/g)?.length, 2);
    t.notMatch(lines, wrong);
  },
);
