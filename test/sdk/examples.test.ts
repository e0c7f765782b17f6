import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { run } from '../support/clients.ts';
import { needProgram } from '../support/programs.ts';
import { startAgentLab } from './support.ts';

/* Every example of docs/sdk.md runs as it stands, against a running gateway. */

const root = resolve(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/sdk.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((it) => it[1] ?? '');

/** In the order of the page: what the example prints. */
const printed = {
  ts: [
    /^ALLOW LOW /,
    /^200 \{"ok":true\}$/,
    /^\{ ok: true \}\nthe answer has \[\] and gives orders: false$/,
    /^pending undefined$/,
    /^DENY \[.*\] until \d{4}-/s,
    /^\[\] s1\./,
    /^INVALID_KEY 401 \S/,
  ],
  python: [/^ALLOW LOW /, /^200 b'\{"ok":true\}'$/, /^pending\n\[\]\nALLOW\nVALIDATION_FAILED 400 \[\{/],
};

/** Leads the name of the package to its source, as `npm install` would lead it to what is built of it. */
const resolver = `
import { registerHooks } from 'node:module';
const sdk = ${JSON.stringify(new URL('../../src/sdk/index.ts', import.meta.url).href)};
registerHooks({ resolve: (name, context, next) => (name === 'postern/sdk' ? { url: sdk, shortCircuit: true } : next(name, context)) });
`;

t.test('each example runs as it stands', async (t) => {
  const { gateway, upstream } = await startAgentLab(t);
  await gateway.apply(
    [
      {
        rule_id: 'ask',
        priority: 1,
        match: { url_patterns: ['*/accounts/*'] },
        condition: {},
        action: 'REQUIRE_APPROVAL',
      },
    ],
    'accounts',
  );
  const env = {
    POSTERN_URL: gateway.controlUrl,
    POSTERN_KEY: gateway.key,
    TARGET_URL: upstream.origin,
    NO_COLOR: '1',
  };
  const folder = t.testdir({ 'package.json': '{"type":"module"}', 'resolver.js': resolver });
  mkdirSync(join(folder, 'python'));

  const ts = blocks('ts');
  t.equal(ts.length, printed.ts.length, 'the examples in TypeScript are found');
  for (const [at, block] of ts.entries()) {
    const file = join(folder, `example-${at}.ts`);
    writeFileSync(file, block);
    const args = ['-u', 'NODE_OPTIONS', process.execPath, '--import', join(folder, 'resolver.js'), file];
    const { code, stdout, stderr } = await run('env', args, env);
    t.match(
      { code, stderr, stdout: stdout.trim() },
      { code: 0, stderr: '', stdout: printed.ts[at] },
      `example ${at} in TypeScript`,
    );
  }

  const python = needProgram(t, 'python3');
  if (!python) return;
  const examples = blocks('python');
  t.equal(examples.length, printed.python.length, 'the examples in Python are found');
  for (const [at, block] of examples.entries()) {
    const file = join(folder, 'python', `example_${at}.py`);
    writeFileSync(file, block);
    const { code, stdout, stderr } = await run(python, ['-W', 'error', '-B', file], {
      ...env,
      PYTHONPATH: join(root, 'src/sdk/python'),
    });
    t.match(
      { code, stderr, stdout: stdout.trim() },
      { code: 0, stderr: '', stdout: printed.python[at] },
      `example ${at} in Python`,
    );
  }
});
