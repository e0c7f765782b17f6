import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { awsKeyId } from '../../support/secrets.ts';
import { eventually, type Lab } from './lab.ts';
import { proxied } from './tunnel.ts';

/** Resources, API key: what is stored in plain form, and what never is. Everything that the daemon and its state write is read. */
export async function stored(t: Test, lab: Lab): Promise<void> {
  await t.test('Resources, API key: key material is stored only as a one-way hash', async (t) => {
    const { mint, ephemeral, scan, api, admin, apply, key } = await lab.tenant('stored');
    const plain = {
      name: `name-${randomUUID()}`,
      description: `description-${randomUUID()}`,
      ip_allowlist: ['127.0.0.0/8', '203.0.113.77/32'],
    };
    const secrets = new Map<string, string>();
    const minted = await mint(plain);
    secrets.set('a live key', minted.key).set('its random part', minted.key.slice(12, -6));
    secrets.set('an ephemeral key', (await ephemeral()).key);
    const vaulted = randomUUID();
    await admin('PUT', '/v1/credentials/vaulted', { type: 'bearer', secret: { value: vaulted } });
    secrets.set('a credential', vaulted);
    const leaked = awsKeyId();
    secrets.set('a secret in a call', leaked);
    await apply([{ rule_id: 'ask', match: { methods: ['PUT'] }, action: 'REQUIRE_APPROVAL' }]);
    const call = {
      url: `https://a.test/${leaked}?k=${leaked}`,
      headers: { 'X-A': leaked },
      body: { a: leaked },
    };
    const { trace_id } = (await scan(call, minted.key)).body;
    t.equal((await scan({ ...call, method: 'PUT' }, minted.key)).body.decision, 'REQUIRE_APPROVAL');
    await api('POST', '/v1/scan/response', { trace_id, response_body: { a: leaked }, response_status: 200 });
    await proxied(lab, 'up.test.example', minted.key, {
      method: 'POST',
      body: leaked,
      headers: { 'x-a': leaked },
    });
    await scan({ ...call, method: 'bad method' }, minted.key);
    await admin('DELETE', `/v1/keys/${minted.key_id}`);
    secrets.set('the administration secret', lab.adminSecret).set('the first key', key);

    const files = await eventually(
      async () => written(lab.dirs),
      (it) => holds(it, plain.description),
    );
    for (const text of [plain.name, plain.description, '203.0.113.77/32'])
      t.ok(holds(files, text), 'names, descriptions and allowlists are stored in plain form');
    for (const [name, secret] of secrets) t.notOk(holds(files, secret), `${name} is in no file`);
    const log = JSON.stringify(lab.daemon.log);
    for (const [name, secret] of secrets) t.notOk(log.includes(secret), `${name} is in no line of the log`);
  });
}

const holds = (files: readonly Buffer[], text: string): boolean => files.some((it) => it.includes(text));

/** All that stands in the folders; what is removed while this reads is not there any more. */
function written(dirs: readonly string[]): Buffer[] {
  const files: Buffer[] = [];
  for (const dir of dirs) {
    for (const it of readdirSync(dir, { recursive: true, withFileTypes: true })) {
      if (it.isFile()) files.push(readIfThere(join(it.parentPath, it.name)));
    }
  }
  return files;
}

function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
