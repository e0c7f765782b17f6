import t from 'tap';
import { createEngine } from '../../src/detectors/engine.ts';
import { loadDetectors } from '../../src/detectors/load.ts';
import { keptText } from '../../src/pipeline/claimed-text.ts';
import { gitlabToken } from '../support/secrets.ts';

const engine = createEngine(loadDetectors('config/detectors'));
const base64 = (text: string): string => Buffer.from(text).toString('base64');

t.test('an ordinary name is kept, without what steers a terminal', async (t) => {
  const names = ['support-bot', 'Ann’s agent (2)', 'svc.billing/eu-west-1', 'sk-test-agent', 'Zażółć'];
  for (const name of names) t.equal(keptText(engine, name), name);
  t.equal(keptText(engine, 'bot\u001b[31m\u202e'), 'bot[31m');
  t.equal(keptText(engine, '\u0007'), undefined, 'nothing is left');
});

const token = gitlabToken();
const hidden: { name: string; text: string }[] = [
  { name: 'a secret', text: `bot ${token}` },
  { name: 'a secret in base64', text: base64(token) },
  { name: 'a secret in hexadecimal digits', text: Buffer.from(token).toString('hex') },
  { name: 'a secret in base64 twice', text: base64(base64(token)) },
  { name: 'the beginning of a secret', text: token.slice(0, 16) },
  { name: 'the beginning of one in base64', text: base64(token.slice(0, 18)) },
];

for (const { name, text } of hidden) {
  t.test(`${name} is not kept`, async (t) => t.equal(keptText(engine, text), undefined));
}

t.test('what could not be read in time is not kept', async (t) =>
  t.equal(
    keptText(engine, `bot ${base64('a name like any other')}`, () => true),
    undefined,
  ),
);
