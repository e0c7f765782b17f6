import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { detectors } from '../../support/detectors.ts';
import { examplesOf } from '../../support/examples.ts';

const folder = new URL('../../../config/detectors', import.meta.url).pathname;
const secrets = detectors.filter((detector) => detector.class === 'SECRETS');

/** `*.api.example.com` and `api.example.com` are one vendor's. */
const domainOf = (host: string): string => host.split('.').slice(-2).join('.');

t.test('knows secrets of many kinds and of many vendors', async (t) => {
  const vendors = new Set(secrets.flatMap(({ vendorHosts }) => vendorHosts.map(domainOf)));
  t.ok(secrets.length >= 350, `${secrets.length} kinds`);
  t.ok(vendors.size >= 200, `${vendors.size} vendors`);
  const named = secrets.find(({ id }) => id === 'named-service-key');
  t.ok((named?.anchors.length ?? 0) >= 1000, 'services by their name alone');
});

t.test('shows for every kind of secret what matches and what nearly does', async (t) => {
  for (const { id } of secrets) {
    const examples = examplesOf({ id });
    t.ok(examples.match.length >= 2, `${id} has two examples that match`);
    t.ok(examples.pass.length >= 2, `${id} has two that do not`);
  }
});

t.test('says of every kind of secret where its form is documented', async (t) => {
  const documents = readdirSync(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8').split('\n---\n'),
  );
  for (const document of documents.filter((it) => /^class: SECRETS$/m.test(it)))
    t.match(document, /^source: \S/m, String(/^id: (.*)$/m.exec(document)?.[1]));
});
