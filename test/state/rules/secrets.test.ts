import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { loadOrMakeSecret } from '../../../src/state/rules/secrets.ts';

t.test('makes a secret once', async (t) => {
  const dir = join(t.testdir(), 'made');
  const file = join(dir, 'pepper');
  const secret = loadOrMakeSecret(file, 32);
  t.equal(secret.length, 32);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.equal(statSync(dir).mode & 0o777, 0o700);
  t.equal(readFileSync(file, 'latin1'), `${secret.toString('hex')}\n`);
  t.same(loadOrMakeSecret(file, 32), secret);
  t.notSame(loadOrMakeSecret(join(dir, 'other'), 32), secret);
  t.same(readdirSync(dir).sort(), ['other', 'pepper'], 'no draft is left behind');
});

t.test('many that start at once get the same secret', async (t) => {
  const file = join(t.testdir(), 'pepper');
  const source = new URL('../../../src/state/rules/secrets.ts', import.meta.url);
  const code = `
    import { parentPort } from 'node:worker_threads';
    import { loadOrMakeSecret } from '${source}';
    parentPort.postMessage(loadOrMakeSecret(${JSON.stringify(file)}, 32).toString('hex'));
  `;
  const starters = Array.from({ length: 6 }, () => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
    return new Promise<string>((resolve, reject) => worker.once('message', resolve).once('error', reject));
  });
  t.equal(new Set(await Promise.all(starters)).size, 1);
});

t.test('reads hex and base64 that somebody else wrote', async (t) => {
  const secret = Buffer.alloc(32, 0xa7);
  for (const encoding of ['hex', 'base64'] as const) {
    const file = join(t.testdir({}), encoding);
    writeFileSync(file, ` ${secret.toString(encoding)}\r\n`, { mode: 0o600 });
    t.same(loadOrMakeSecret(file, 32), secret, encoding);
  }
});

t.test('refuses a secret that is not what it should be, and quotes none of it', async (t) => {
  const hex = Buffer.alloc(32, 0x5c).toString('hex');
  const cases = [
    { name: 'readable by the group', text: hex, mode: 0o640, message: /chmod 600/ },
    { name: 'readable by all', text: hex, mode: 0o604, message: /chmod 600/ },
    { name: 'too short', text: hex.slice(2), mode: 0o600, message: /must hold 32 bytes/ },
    { name: 'too long', text: `${hex}5c`, mode: 0o600, message: /must hold 32 bytes/ },
    { name: 'far too long', text: hex.repeat(1_000), mode: 0o600, message: /must hold 32 bytes/ },
    { name: 'empty', text: '', mode: 0o600, message: /must hold 32 bytes/ },
    { name: 'no encoding', text: `${hex.slice(1)}!`, mode: 0o600, message: /must hold 32 bytes/ },
  ];
  for (const { name, text, mode, message } of cases) {
    const file = join(t.testdir(), name.replaceAll(' ', '-'));
    writeFileSync(file, text);
    chmodSync(file, mode);
    t.throws(() => loadOrMakeSecret(file, 32), { message }, name);
    try {
      loadOrMakeSecret(file, 32);
    } catch (error) {
      t.notMatch(String(error), '5c5c');
    }
    t.equal(readFileSync(file, 'utf8'), text, 'and leaves it as it is');
  }
  const directory = join(t.testdir(), 'directory');
  mkdirSync(directory, { mode: 0o700 });
  t.throws(() => loadOrMakeSecret(directory, 32), { message: /is not a file/ });
});
