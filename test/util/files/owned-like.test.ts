import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ownedLike } from '../../../src/util/files/owned-like.ts';

const self = process.getuid?.() ?? 0;
const other = self === 0 ? 54_321 : self;

t.test('what root makes goes to the owner of its model, or of the nearest folder above it', (t) => {
  const dir = t.testdir({});
  mkdirSync(join(dir, 'state'));
  chownSync(join(dir, 'state'), other, process.getgid?.() ?? 0);
  for (const [index, model] of ['state', 'state/there/is/none'].entries()) {
    const file = join(dir, `made-${index}`);
    writeFileSync(file, '');
    ownedLike(file, join(dir, model));
    t.equal(statSync(file).uid, other, model);
  }
  t.end();
});

t.test('whoever is not root keeps what they make', (t) => {
  const dir = t.testdir({ made: '' });
  ownedLike(join(dir, 'made'), '/', 1000);
  t.equal(statSync(join(dir, 'made')).uid, self);
  t.end();
});

t.test('root that may give nothing away keeps it', (t) => {
  const dir = t.testdir({ made: '' });
  mkdirSync(join(dir, 'state'));
  chownSync(join(dir, 'state'), other, process.getgid?.() ?? 0);
  const script = `import { ownedLike } from '${new URL('../../../src/util/files/owned-like.ts', import.meta.url)}'; ownedLike('made', 'state', 0)`;
  const bound = self === 0 ? ['setpriv', '--bounding-set', '-chown', '--inh-caps', '-chown'] : [];
  const [program = '', ...args] = [...bound, process.execPath, '--input-type=module', '-e', script];
  execFileSync(program, args, { cwd: dir });
  t.equal(statSync(join(dir, 'made')).uid, self);
  t.end();
});
