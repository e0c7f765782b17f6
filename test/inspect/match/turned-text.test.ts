import t from 'tap';
import { engine } from '../../support/detectors.ts';
import { expandSample } from '../../support/samples.ts';

const limits = { matchesMax: 100, isOver: () => false };

const backwards = (text: string): string => [...text].reverse().join('');
const rot13 = (text: string): string =>
  text.replace(/[a-z]/gi, (letter) => {
    const first = letter < 'a' ? 65 : 97;
    return String.fromCharCode(first + ((letter.charCodeAt(0) - first + 13) % 26));
  });
const turnings = { backwards, 'in ROT13': rot13 };

const found = (text: string): { id: string; text: string }[] => {
  const bytes = Buffer.from(text);
  return engine
    .find(bytes, limits)
    .matches.filter(({ confidence }) => confidence !== 'low')
    .map(({ detector, start, end }) => ({ id: detector.id, text: bytes.toString('utf8', start, end) }));
};

const pem = expandSample(
  `-----BEGIN PRIVATE KEY-----\nMIIE{base64:60}\n{base64:64}\n{base64:40}\n-----END PRIVATE KEY-----`,
);
const secrets = [
  expandSample('AKIA{base32:16}'),
  expandSample('ghp_{crc:36}'),
  expandSample('glpat-{alnum:20}'),
  expandSample('xoxb-{digits:12}-{digits:13}-{alnum:24}'),
  expandSample('sk_live_{alnum:24}'),
  pem,
];

for (const [name, turn] of Object.entries(turnings)) {
  t.test(`finds a secret ${name}, and where it stands`, async (t) => {
    for (const secret of secrets)
      for (const [before, behind] of [
        ['', ''],
        ['{"a":"', '","b":1}'],
        ['and so it is: ', ' or not\n'],
      ] as const) {
        const all = found(`${before}${turn(secret)}${behind}`);
        t.ok(
          all.some((it) => it.text === turn(secret)),
          JSON.stringify(all),
        );
      }
  });

  t.test(`finds a password ${name}`, async (t) => {
    for (const line of ['password=Tq7vXz2mKp9LwB4d', '"api_key": "f3Kq9ZtW7mXc2VbN8sLd"'])
      t.ok(found(`x ${turn(line)} y`).length > 0, line);
  });
}

t.test('a beginning without a secret is none', async (t) => {
  for (const text of [
    'the word drowssap is password backwards, as everybody knows',
    'NVmnf and kbko-enables, AIKA and _phg_functions',
    `x${backwards('AKIA')} ${'A'.repeat(30)}`,
    rot13('-----BEGIN of the story'),
  ])
    t.same(found(text), [], text);
});

t.test('personal data beside a beginning is not read backwards', async (t) => {
  t.same(found(`${backwards('card 4539 5787 6362 1486, password')} `), []);
});

t.test('of many beginnings the first ones are looked at, in linear time', async (t) => {
  const secret = backwards(secrets[1] as string);
  const decoy = `${backwards('password')} `;
  t.equal(found(`${decoy.repeat(63)}${secret}`).length, 1);
  t.equal(found(`${decoy.repeat(64)}${secret}`).length, 0);
  const looks = { count: 0 };
  const text = Buffer.from(decoy.repeat(100_000));
  const { complete } = engine.find(text, { matchesMax: 100, isOver: () => ++looks.count < 0 });
  t.ok(complete);
});

t.test('a search that is over its time is not complete', async (t) => {
  const text = Buffer.from(`${backwards(pem)} `.repeat(10));
  t.notOk(engine.find(text, { matchesMax: 100, isOver: () => true }).complete);
});
