import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needProgram } from './programs.ts';
import { until } from './redis.ts';

interface Test {
  readonly fullname: string;
  teardown(close: () => void | Promise<void>): void;
}

/**
 * Runs haproxy in the foreground until the test ends; false where the machine has none. It is there once something listens at each of
 * `listening`, which are ports of 127.0.0.1 or paths of sockets.
 */
export async function startHaproxy(
  t: Test,
  config: readonly string[],
  listening: readonly (number | string)[],
): Promise<boolean> {
  const program = needProgram(t, 'haproxy');
  if (!program) return false;
  const dir = mkdtempSync(join(tmpdir(), 'postern-haproxy-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'haproxy.cfg');
  writeFileSync(file, `${config.join('\n')}\n`);
  const child = spawn(program, ['-db', '-q', '-f', file], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  for (const place of listening) {
    await until('haproxy listens', async () => {
      const socket = typeof place === 'number' ? net.connect(place, '127.0.0.1') : net.connect(place);
      await once(socket, 'connect');
      socket.destroy();
      return true;
    });
  }
  return true;
}
