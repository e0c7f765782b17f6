import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';
import { operatorOf, postern } from './support.ts';

t.test('the audit log is verified and exported with a daemon and without one', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const config = ['--config', configFile];
  const daemon = await startDaemon(t, dir, config);
  const api = apiClient(daemon.controlUrl);
  // More than a page of the API.
  const entries = 1001;
  const path = `/v1/agents/${agentId}/reset-trust`;
  for (let sent = 0; sent < entries; sent += 77)
    await Promise.all(
      Array.from({ length: 77 }, () => api('POST', path, { note: 'x' }, `Bearer ${adminSecret}`)),
    );
  const operator = operatorOf(daemon);

  const verified = JSON.parse((await operator(['audit', 'verify', '--json'])).stdout);
  t.match(verified, { tenant_id: 'acme', ok: true, entries, head: /^[0-9a-f]{64}$/ });
  const exported = (await operator(['audit', 'export'])).stdout;
  const lines = exported
    .trimEnd()
    .split('\n')
    .map((it) => JSON.parse(it));
  t.same(
    lines.map((it) => it.seq),
    Array.from({ length: entries }, (_, at) => at + 1),
    'oldest first, each once',
  );
  t.match(lines[0], { tenant_id: 'acme', kind: 'agent.trust_reset', operator: 'admin', subject: agentId });

  const listed = JSON.parse(
    (await operator(['audit', 'list', '--json', '--limit', '2', '--kind', 'agent.trust_reset'])).stdout,
  );
  t.same(
    listed.items.map((it: { seq: number }) => it.seq),
    [entries, entries - 1],
    'newest first',
  );
  t.match(
    (await operator(['audit', 'list', '--limit', '1'])).stdout,
    /agent\.trust_reset +admin +.*"note":"x"/,
  );
  t.match(await operator(['audit', 'list', '--subject', 'nobody', '--json']), { stdout: /"items":\[\]/ });

  const kept = lines[499].hash;
  const held = await operator(['audit', 'verify', '--head', kept]);
  t.match(held, { code: 0, stderr: /^acme: entry 500 has the head that was kept/m });
  const cut = await operator(['audit', 'verify', '--head', '0'.repeat(64)]);
  t.match(cut, { code: 1, stderr: /no entry has the head that was kept: the log was cut off/ });
  t.match(await operator(['audit', 'verify', '--head', 'abc']), { code: 2, stderr: /64 hexadecimal digits/ });

  const locked = await postern([...config, 'audit', 'verify'], {
    env: { POSTERN_URL: 'http://127.0.0.1:9' },
  });
  t.equal(locked.code, 1);
  t.match(locked.stderr, /in use by another Postern/, 'two never read one embedded state');

  await daemon.end('SIGTERM');
  const named = await operator(['--url', daemon.controlUrl, ...config, 'audit', 'verify']);
  t.equal(named.code, 1, 'a daemon that was named must answer');
  t.match(named.stderr, /cannot be asked/);
  const offline = await postern([...config, 'audit', 'verify', '--json']);
  t.same(JSON.parse(offline.stdout), verified, 'the state itself says the same, and asks for no secret');
  t.equal((await postern([...config, 'audit', 'export'])).stdout, exported);
  t.match(await postern([...config, 'audit', 'verify', '--head', kept]), {
    code: 0,
    stderr: /entry 500 has/,
  });

  const db = new DatabaseSync(join(dir, 'data', 'state.db'));
  t.teardown(() => db.close());
  const altered = 600;
  db.exec('DROP TRIGGER audit_keeps_entries');
  db.exec(
    `UPDATE audit SET entry = replace(entry, '"note":"x"', '"note":"y"') WHERE seq IN (${altered}, 900)`,
  );
  const after = await postern([...config, 'audit', 'verify']);
  t.equal(after.code, 1);
  t.equal(after.stdout, `acme: entry ${altered} is altered.\n`);

  const again = await startDaemon(t, dir, config);
  const answered = await operatorOf(again)(['audit', 'verify']);
  t.equal(answered.code, 1);
  t.equal(answered.stdout, `acme: entry ${altered} is altered.\n`, 'the daemon need not be believed');

  db.exec(`UPDATE audit SET entry = 'none' WHERE seq = ${entries}`);
  const broken = await operatorOf(again)(['audit', 'list']);
  t.match(broken, { code: 1, stderr: /none any more: somebody has altered it/ });
});

t.test('a state that is not there is not made', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const ran = await postern(['--config', configFile, 'audit', 'verify']);
  t.equal(ran.code, 1);
  t.match(ran.stderr, `there is no state in ${join(dir, 'data')}`);
});

t.test('the audit log on Redis is verified without a daemon', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  const state = { url: `redis://${redis.host}:${redis.port}/0`, dir: './local' };
  const { dir, configFile } = writeTestConfig(t, { config: { state } });
  const config = ['--config', configFile];
  const daemon = await startDaemon(t, dir, config);
  const operator = operatorOf(daemon);
  for (const name of ['one', 'two', 'three'])
    t.equal((await operator(['key', 'mint', '--name', name, '--agent', agentId])).code, 0);
  const exported = (await operator(['audit', 'export'])).stdout;
  await daemon.end('SIGTERM');
  const sound = await postern([...config, 'audit', 'verify']);
  t.match(sound.stdout, /^acme: 3 entries, none altered or missing; head [0-9a-f]{64}\n$/);
  t.equal((await postern([...config, 'audit', 'export'])).stdout, exported);
  await redis.command('LSET', 'postern:{acme}:audit', 1, 'gone');
  const broken = await postern([...config, 'audit', 'verify']);
  t.equal(broken.code, 1);
  t.equal(broken.stdout, 'acme: entry 2 is altered.\n');
  t.equal((await postern([...config, 'audit', 'export'])).code, 1);
});
