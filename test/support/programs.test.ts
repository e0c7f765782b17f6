import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';

const module = new URL('./programs.ts', import.meta.url).href;
const program = `
  import { needProgram } from ${JSON.stringify(module)};
  console.log(needProgram({ fullname: 'the test' }, 'certutil'));
`;

/** Asks for certutil in a process of its own, so that nothing is noted of this run. */
async function ask(folder: string, path: string) {
  const file = join(folder, 'left-out');
  const env = { PATH: path, POSTERN_TEST_LEFT_OUT: file };
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', program],
    { env },
  );
  return { stdout, stderr, noted: existsSync(file) ? readFileSync(file, 'utf8') : '' };
}

t.test('notes a program that the machine lacks', async (t) => {
  const line = 'left out: the test needs certutil (Debian: libnss3-tools)\n';
  const folder = t.testdir({ certutil: 'not executable' });
  t.same(await ask(folder, `${folder}:`), { stdout: 'undefined\n', stderr: line, noted: line });
});

t.test('finds a program in any folder of the path', async (t) => {
  const folder = t.testdir({ bin: { certutil: t.fixture('symlink', process.execPath) } });
  const want = { stdout: `${join(folder, 'bin', 'certutil')}\n`, stderr: '', noted: '' };
  t.same(await ask(folder, `/nowhere:${join(folder, 'bin')}`), want);
});
