import t from 'tap';
import { mayGoOn } from '../../../src/inspect/split/secret-beginning.ts';
import { detectors } from '../../support/detectors.ts';
import { examplesOf } from '../../support/examples.ts';
import { expandSample } from '../../support/samples.ts';

const cases: readonly (readonly [id: string, text: string, is: boolean])[] = [
  ['octopus-key', 'API-', true],
  ['octopus-key', 'API-0AB3', true],
  ['octopus-key', 'API-Key', false],
  ['octopus-key', 'API---', false],
  ['octopus-key', 'API-Key%20', true],
  ['cursor-key', 'key_agreement', false],
  ['cursor-key', 'key_a9ee', true],
  ['apollo-graphos-key', 'user:pass', true],
  ['apollo-graphos-key', 'service:4000/graphql', false],
  ['rancher-token', 'token-ab1', true],
  ['rancher-token', 'token-code-point', false],
  ['rancher-token', 'token-ab1=x', true],
  ['gitlab-token', 'glpat-aB3', true],
];

for (const [id, text, is] of cases)
  t.test(`${text} ${is ? 'may begin' : 'begins no'} ${id}`, async (t) => {
    const detector = detectors.find((it) => it.id === id);
    if (!detector) throw new Error(`there is no detector ${id}`);
    const bytes = Buffer.from(`"${text}"`);
    t.equal(
      mayGoOn(bytes, { detector, start: 1, end: bytes.length - 1, missing: undefined, isTelling: true }),
      is,
    );
  });

t.test('each beginning of what a pattern matches in an example may go on', async (t) => {
  let count = 0;
  for (const detector of detectors)
    for (const example of examplesOf(detector).match) {
      const text = Buffer.from(expandSample(example)).toString('latin1');
      const match = new RegExp(detector.pattern, detector.flags.replace('d', '')).exec(text);
      if (!match || match[0].length > 512) continue;
      const bytes = Buffer.from(text, 'latin1');
      const { index: start } = match;
      const lost = Array.from({ length: match[0].length }, (_, at) => start + at).find(
        (end) =>
          end > start && !mayGoOn(bytes, { detector, start, end, missing: undefined, isTelling: true }),
      );
      t.equal(lost, undefined, `${detector.id}: ${text}`);
      count += 1;
    }
  t.ok(count > 1000);
});
