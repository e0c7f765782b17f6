import { createHash } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { fileDigest } from '../../../src/util/files/file-digest.ts';

t.test('a file is read in pieces, whatever its size', (t) => {
  const file = join(t.testdir({}), 'large');
  for (const text of ['', 'abc']) {
    writeFileSync(file, text);
    t.equal(fileDigest(file), createHash('sha256').update(text).digest('hex'));
  }
  truncateSync(file, 256 * 1024 * 1024);
  const before = process.resourceUsage().maxRSS;
  fileDigest(file);
  const grownKb = process.resourceUsage().maxRSS - before;
  t.ok(grownKb < 64 * 1024, `memory has grown by ${grownKb} KB`);
  t.end();
});
