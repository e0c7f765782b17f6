import { writeFileSync } from 'node:fs';
import t from 'tap';
import { stringify } from 'yaml';
import { keyDigest, newKeyText } from '../../src/key-text.ts';
import { agentId, startTestGateway, testConfig } from '../support/gateway.ts';

const scan = { agent_id: agentId, method: 'GET', url: 'https://api.test.example/x' };

t.test(
  'keys of the configuration work while they stand in it, and are revoked when they are taken out',
  async (t) => {
    const text = newKeyText('live');
    const entry = { name: 'from git', agent: agentId, hash: `sha256:${keyDigest(text)}` };
    const gateway = await startTestGateway(t, { config: { keys: [entry] } });
    const asKey = () => gateway.api('POST', '/v1/scan', scan, `Bearer ${text}`);
    const take = (keys: readonly unknown[]) => {
      writeFileSync(gateway.configFile, stringify(testConfig({ config: { keys } })));
      return gateway.reload();
    };
    t.equal((await asKey()).status, 200);
    t.ok(await take([{ ...entry, ip_allowlist: ['192.0.2.0/24'] }]));
    t.match(
      await asKey(),
      { status: 403, body: { code: 'IP_NOT_ALLOWED' } },
      'a change holds after the reload',
    );
    t.ok(await take([entry]));
    t.equal((await asKey()).status, 200);
    t.ok(await take([]));
    t.match(await asKey(), { status: 401, body: { code: 'INVALID_KEY' } });
    t.ok(await take([entry]));
    t.equal((await asKey()).status, 401, 'a revoked key stays revoked');
  },
);

t.test('a key of the configuration that was minted for somebody is refused with its name', async (t) => {
  const gateway = await startTestGateway(t);
  const entry = { name: 'taken', agent: agentId, hash: `sha256:${keyDigest(gateway.key)}` };
  writeFileSync(gateway.configFile, stringify(testConfig({ config: { keys: [entry] } })));
  t.notOk(await gateway.reload());
  t.equal((await gateway.api('POST', '/v1/scan', scan)).status, 200, 'the old configuration stays');
});
