import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import t from 'tap';
import { openLog } from '../../src/core/log.ts';

const lines = 3_000;

t.test('a log that nobody reads holds nothing up, and its lines come once somebody does', async (t) => {
  const script = new URL('chatty.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, String(lines)], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const said: string[] = [];
  let told: { dropped: number; err: unknown } | undefined;
  for await (const line of createInterface({ input: child.stderr })) {
    const { dropped, err, msg } = JSON.parse(line);
    if (msg === 'the log can be written again') {
      told = { dropped, err };
      break;
    }
    said.push(msg);
  }
  t.strictSame(
    said,
    said.map((_, at) => `line ${at}`),
    'what waited comes whole and in order',
  );
  t.match(told, { dropped: lines - said.length, err: { code: 'EAGAIN' } });
  t.ok(said.length < lines, `${said.length} lines waited, which is a bound`);
});

t.test(
  'a log on a full disk ends nothing',
  { skip: existsSync('/dev/full') ? false : 'no /dev/full' },
  (t) => {
    const log = openLog({ level: 'info', file: '/dev/full' });
    for (let at = 0; at < lines; at += 1) log.info({ reason: 'x'.repeat(1_000) }, `line ${at}`);
    t.pass('nothing was thrown');
    t.end();
  },
);
