import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { ConfigError, loadConfig } from '../../../src/config/load.ts';
import { readInThread } from '../../../src/daemon/reload/read-in-thread.ts';

t.test('mistakes are told although this thread was busy while the other one found them', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-reload-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'postern.yaml');
  writeFileSync(file, '{}\n');
  const before = loadConfig(file, {});
  writeFileSync(file, 'limitz: {}\n');
  for (let round = 0; round < 3; round += 1) {
    const read = readInThread({ file, env: {}, taken: undefined }, before, async () => 'taken');
    const refused = t.rejects(read, ConfigError);
    await new Promise((resolve) => setImmediate(resolve));
    // Longer than the thread takes from its start to its result.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    await refused;
  }
});
