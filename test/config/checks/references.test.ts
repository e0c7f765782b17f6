// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested here
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { References } from '../../../src/config/checks/references.ts';
import { ConfigError, parseConfig } from '../../../src/config/load.ts';

const files: Readonly<Record<string, string>> = {
  'token.txt': 'from a file\n',
  'windows.txt': 'from a file\r\n',
  'two.txt': 'one\n\n',
  'nested.txt': '$' + '{env:NAME}',
};

function resolve(text: string, env: Record<string, string> = {}): { value: string; complaints: string[] } {
  const complaints: string[] = [];
  const readFile = (path: string): string => {
    const content = files[path];
    if (content === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    return content;
  };
  const value = new References({ env, readFile }).resolve(text, (message) => complaints.push(message));
  return { value, complaints };
}

const form = 'has "$' + '{" that begins neither';
const cases: { name: string; text: string; want: string; complaint?: string }[] = [
  { name: 'a text without references', text: 'plain $NAME {x}', want: 'plain $NAME {x}' },
  { name: 'a variable', text: '${env:NAME}', want: 'value' },
  { name: 'several in one text', text: 'a ${env:NAME} b ${env:NAME}', want: 'a value b value' },
  { name: 'a variable with a default that it does not need', text: '${env:NAME:-other}', want: 'value' },
  { name: 'a default', text: '${env:NONE:-other:-text $5}', want: 'other:-text $5' },
  { name: 'an empty default', text: 'a${env:NONE:-}b', want: 'ab' },
  { name: 'a default in place of an empty variable', text: '${env:EMPTY:-other}', want: 'other' },
  { name: 'an empty variable', text: '${env:EMPTY}', want: '' },
  {
    name: 'a variable that is not set',
    text: '${env:NONE}',
    want: '',
    complaint: 'the variable NONE is not set',
  },
  {
    name: 'a name that all objects have',
    text: '${env:constructor}',
    want: '',
    complaint: 'the variable constructor is not set',
  },
  { name: 'a file', text: 'Bearer ${file:token.txt}', want: 'Bearer from a file' },
  { name: 'a file with CRLF', text: '${file:windows.txt}', want: 'from a file' },
  { name: 'one line break of several', text: '${file:two.txt}', want: 'one\n' },
  {
    name: 'a missing file',
    text: '${file:no.txt}',
    want: '',
    complaint: 'the file no.txt cannot be read: there is no such file',
  },
  { name: 'what a file says only once', text: '${file:nested.txt}', want: '${env:NAME}' },
  { name: 'what a variable says only once', text: '${env:NESTED}', want: '${env:NAME}' },
  { name: 'an escaped reference', text: '$${env:NAME}', want: '${env:NAME}' },
  { name: 'a misspelt kind', text: '${evn:NAME}', want: 'evn:NAME}', complaint: form },
  { name: 'a reference without end', text: '${env:NAME', want: 'env:NAME', complaint: form },
  { name: 'a shell variable', text: '${NAME}', want: 'NAME}', complaint: form },
  { name: 'a variable whose name is none', text: '${env:A-B}', want: 'env:A-B}', complaint: form },
];

for (const { name, text, want, complaint } of cases) {
  t.test(`resolves ${name}`, async (t) => {
    const { value, complaints } = resolve(text, { NAME: 'value', EMPTY: '', NESTED: '${env:NAME}' });
    t.equal(value, want);
    if (complaint === undefined) t.strictSame(complaints, []);
    else t.match(complaints, [complaint]);
  });
}

t.test('puts in 16 MB at most', async (t) => {
  const { value, complaints } = resolve('${env:LARGE}'.repeat(40), { LARGE: 'x'.repeat(1024 * 1024) });
  t.equal(value.length, 16 * 1024 * 1024);
  t.match(complaints[0], 'the references put in more than 16 MB');
});

t.test('a value that is put in stays one text, whatever YAML it looks like', async (t) => {
  const env = { NAME: 'x"\nmode: monitor\n- a: {b: [c', WORKERS: '1', AUTH: 'false', PLAN: 'pro' };
  const text = [
    'workers: ${env:WORKERS}',
    'proxy: { require_auth: "${env:AUTH}" }',
    'intercept: { passthrough: ["${env:HOST:-a.example}"] }',
    'upstream: { proxy: "${env:PARENT:-}" }',
    'tenants: [{ id: a, plan: "${env:PLAN}", internal: { markers: ["${env:MARK:-say: what}"] } }]',
  ].join('\n');
  const config = parseConfig(text, { file: undefined, env });
  t.match(config, { mode: 'enforce', workers: 1, proxy: { requireAuth: false }, upstream: { proxy: null } });
  t.strictSame(config.tenants.get('a')?.internal.markers, ['say: what']);
  t.equal(config.tenants.get('a')?.plan.name, 'pro');
  t.throws(() => parseConfig('pid_file: x\ntenants: [{ id: "${env:NAME}" }]', { file: undefined, env }), {
    message:
      'the configuration has one mistake:\n  line 2, column 13, tenants[0].id: must be 1 to 64 letters, digits, "_" or "-"',
  });
});

t.test('keys are not resolved', async (t) => {
  const parse = (): unknown => parseConfig('"${env:A}": 1', { file: undefined, env: { A: 'workers' } });
  t.throws(parse, /line 1, column 1, \["\$\{env:A\}"\]: unknown key/);
});

t.test('files are read beside the configuration, and only regular ones of up to 1 MB', async (t) => {
  const dir = t.testdir({
    'secret.txt': 'long-enough-secret\n',
    large: 'x'.repeat(1024 * 1024 + 1),
    limit: 'x'.repeat(60_000),
    folder: {},
  });
  symlinkSync('secret.txt', join(dir, 'link'));
  const adminSecret = (path: string): string | null =>
    parseConfig(`control: { admin_secret: "\${file:${path}}" }`, { file: join(dir, 'postern.yaml'), env: {} })
      .control.adminSecret;
  t.equal(adminSecret('secret.txt'), 'long-enough-secret');
  t.equal(adminSecret('./link'), 'long-enough-secret');
  t.equal(adminSecret(join(dir, 'secret.txt')), 'long-enough-secret');
  t.equal(adminSecret('limit')?.length, 60_000);
  for (const path of ['large', 'folder', 'none', '/dev/zero'])
    t.throws(() => adminSecret(path), ConfigError, path);
});
