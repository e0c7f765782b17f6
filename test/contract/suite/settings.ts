import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import { startDaemon } from '../../support/daemon.ts';
import { type Lab, openTenant, send } from './lab.ts';

const bodyBytesMax = 2048;

/** Limits 1 and 2: the settings in the environment, on a daemon of its own, since they hold for all of its tenants. */
export async function settings(t: Test, lab: Lab): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'postern-contract-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const configFile = join(dir, 'postern.yaml');
  const listen = { listen: '127.0.0.1:0' };
  writeFileSync(
    configFile,
    stringify({ proxy: listen, control: listen, tenants: [{ id: 'set' }], log: { level: 'error' } }),
  );
  process.env['MAX_BODY_BYTES'] = String(bodyBytesMax);
  process.env['REPLAY_WINDOW_SEC'] = '5';
  const { controlUrl } = await startDaemon(t, dir, ['--config', configFile]).finally(() => {
    delete process.env['MAX_BODY_BYTES'];
    delete process.env['REPLAY_WINDOW_SEC'];
  });
  const { scan, key } = await openTenant((request) => send(controlUrl, request), lab.adminSecret, 'set');

  await t.test('Limits 1: the body size ceiling is set by MAX_BODY_BYTES', async (t) => {
    t.equal((await scan({ body: 'x'.repeat(bodyBytesMax) })).status, 200);
    t.match(await scan({ body: 'x'.repeat(bodyBytesMax + 1) }), {
      status: 413,
      body: { code: 'PAYLOAD_TOO_LARGE', actual_bytes: bodyBytesMax + 1, limit_bytes: bodyBytesMax },
    });
  });

  await t.test('Limits 2: the replay window is set by REPLAY_WINDOW_SEC', async (t) => {
    const sentAgo = (seconds: number) =>
      send(controlUrl, {
        method: 'POST',
        path: '/v1/scan',
        authorization: `Bearer ${key}`,
        body: { method: 'GET', url: 'https://a.test/' },
        headers: {
          'X-Service-Timestamp': String(Math.floor(Date.now() / 1000) - seconds),
          'X-Service-Nonce': `nonce-of-${seconds}-seconds`,
        },
      });
    t.equal((await sentAgo(0)).status, 200);
    t.match(await sentAgo(30), { status: 409, body: { code: 'REPLAYED' } });
  });
}
