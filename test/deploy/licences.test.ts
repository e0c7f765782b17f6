import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { shippedPackages } from '../../docs/generate-notices.ts';
import { run } from '../support/clients.ts';

const root = resolve(import.meta.dirname, '../..');
/** Licences that ask for no more than that they are named and their text goes along. */
const allowed = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
];

t.test('all that ships is under a licence that allows it, and is named in the notices', async (t) => {
  const shipped = shippedPackages();
  t.ok(shipped.length > 15, 'packages are found');
  const notices = readFileSync(join(root, 'THIRD_PARTY_NOTICES'), 'utf8');
  for (const { name, version, license } of shipped) {
    const choices = license.replace(/[()]/g, '').split(' OR ');
    t.ok(
      choices.some((it) => allowed.includes(it)),
      `${name}: ${license}`,
    );
    t.ok(notices.includes(`\n${name} ${version} (`), `${name} ${version} is in THIRD_PARTY_NOTICES`);
  }
});

t.test('the bill of materials has all that ships (CycloneDX), as it was packed', async (t) => {
  const { code, stdout, stderr } = await run('env', [
    '-u',
    'NODE_OPTIONS',
    process.execPath,
    join(root, 'docs/generate-notices.ts'),
  ]);
  t.equal(code, 0, stderr);
  const bill = JSON.parse(stdout);
  t.match(bill, { bomFormat: 'CycloneDX', metadata: { component: { name: 'postern' } } });
  const direct = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies;
  const purls = bill.components.map((it: { purl: string }) => decodeURIComponent(it.purl));
  for (const [name, version] of Object.entries(direct))
    t.ok(purls.includes(`pkg:npm/${name}@${version}`), name);
  for (const { name, hashes } of bill.components) t.match(hashes[0].content, /^[0-9a-f]{128}$/, name);
});
