import t from 'tap';
import { parseConfig } from '../../../src/config/load.ts';
import { changedKeys } from '../../../src/daemon/reload/last-reload.ts';

const read = (text: string) => parseConfig(text, { file: undefined, env: {} });

t.test('a reload names each key that changed, by its name in the file', async (t) => {
  const before = read('tenants: [{ id: acme }]');
  for (const [tenant, path] of [
    ['detectors: { off: [iban] }', 'tenants.acme.detectors.off'],
    [`detectors: { allow_sha256: ["${'0'.repeat(64)}"] }`, 'tenants.acme.detectors.allow_sha256'],
    ['detectors: { confidence: { iban: low } }', 'tenants.acme.detectors.confidence.iban'],
    ['org_domains: [acme.example]', 'tenants.acme.org_domains'],
    ['denylist: [evil.example]', 'tenants.acme.denylist'],
    ['approvals: { ttl: 5m }', 'tenants.acme.approvals.ttl'],
  ] as const)
    t.strictSame(await changedKeys(before, read(`tenants: [{ id: acme, ${tenant} }]`)), [path], path);
  t.strictSame(await changedKeys(before, read('tenants: [{ id: acme }]')), [], 'the same');
});
