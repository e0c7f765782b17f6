import { execFile } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';

const runner = join(import.meta.dirname, 'run.ts');
const file = (text: string): string => `import t from 'tap';\n${text}`;

interface Run {
  readonly code: number;
  readonly output: string;
}

const run = (files: readonly string[]): Promise<Run> =>
  new Promise((resolve) => {
    execFile(process.execPath, [runner, ...files], (error, output) =>
      resolve({ code: error ? Number(error.code) : 0, output }),
    );
  });

t.test('files that share a process are counted and told apart', async (t) => {
  const folder = t.testdir({
    'a.test.ts': file(
      "t.test('x', async (t) => { t.ok(1); t.ok(2); t.test('later', { skip: true }, () => {}); });",
    ),
    'b.test.ts': file("t.test('y', async (t) => { t.ok(1); t.equal(1, 2, 'one is two'); });"),
    'c.test.ts': file("await t.test('z', async (t) => t.ok(1)); throw new Error('at the top');"),
    'd.test.ts': file("t.test('v', async () => process.kill(process.pid, 'SIGKILL'));"),
    'e.test.ts': file(
      "t.test('u', async (t) => { t.ok(1); void Promise.reject(new Error('late')); await new Promise(setImmediate); });",
    ),
    'f.test.ts': file(
      "t.test('w', () => new Promise(() => setTimeout(() => { throw new Error('later'); })));",
    ),
    'g.test.ts': file("t.equal(import.meta.filename.slice(-9), 'g.test.ts');"),
  });
  const files = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((it) => join(folder, `${it}.test.ts`));
  const { code, output } = await run(files);
  t.equal(code, 1);
  const told = output.match(/^(not )?ok \d+ - .* # \d+ passed/gm)?.slice(0, files.length);
  t.same(
    told?.map((it) => it.replace(folder, '')),
    [
      'ok 1 - /a.test.ts # 2 passed',
      'not ok 2 - /b.test.ts # 1 passed',
      'not ok 3 - /c.test.ts # 1 passed',
      'not ok 4 - /d.test.ts # 0 passed',
      'not ok 5 - /e.test.ts # 1 passed',
      'not ok 6 - /f.test.ts # 0 passed',
      'ok 7 - /g.test.ts # 1 passed',
    ],
  );
  t.match(output, /^ +not ok 2 - one is two$/m, 'what failed is shown');
  t.match(output, /^ +it ended with SIGKILL$/m, 'and how a process ended');
  t.match(output, /^ +not ok 2 - a rejection that nobody handled$/m, 'and what nobody has waited for');
  t.match(output, /\n6 passed, 5 failed, 1 skipped\n$/);
});

t.test('files that pass end well', async (t) => {
  const folder = t.testdir({ 'a.test.ts': file("t.pass('it does');") });
  const { code, output } = await run([join(folder, 'a.test.ts')]);
  t.equal(code, 0);
  t.match(output, /\n1 passed, 0 failed, 0 skipped\n$/);
});
