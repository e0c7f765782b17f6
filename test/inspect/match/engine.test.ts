import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createEngine, type Found } from '../../../src/inspect/match/engine.ts';
import { detectorSchema } from '../../../src/inspect/patterns/detector.ts';
import { engine } from '../../support/detectors.ts';
import { expandSample } from '../../support/samples.ts';

const limits = { matchesMax: 100, isOver: () => false };

const find = (text: string | Buffer, own = engine): Found => own.find(Buffer.from(text), limits);

/** What was found that sets a class, as `kind=text`. */
function kindsIn(text: string): string[] {
  const bytes = Buffer.from(expandSample(text));
  return engine
    .find(bytes, limits)
    .matches.filter(({ confidence }) => confidence !== 'low')
    .map(({ detector }) => detector.id);
}

/** A detector with what the test does not care about filled in. */
const detector = (fields: Record<string, unknown>) =>
  detectorSchema.parse({
    id: 'test',
    title: 'Test',
    class: 'SECRETS',
    confidence: 'high',
    examples: { match: ['a'], pass: ['b'] },
    ...fields,
  });

const anchored = detector({ anchors: ['tok_'], pattern: 'tok_([a-z]{4,8})', group: 1 });

t.test('gives the bytes of the secret, not of its surroundings, whatever stands before', (t) => {
  for (const before of ['', 'x=', 'ünïcödé — ', '\u{1f511} ']) {
    const bytes = Buffer.from(`${before}"tok_abcdef"`);
    const [match] = find(bytes, createEngine([anchored])).matches;
    t.equal(bytes.toString('utf8', match?.start, match?.end), 'abcdef', before);
  }
  t.end();
});

t.test('finds at every alignment and at both ends of a buffer', (t) => {
  for (let offset = 0; offset < 9; offset++) {
    const holder = Buffer.from(`${'a'.repeat(offset)} tok_abcd`);
    t.equal(find(holder.subarray(offset + 1), createEngine([anchored])).matches.length, 1);
  }
  t.end();
});

t.test('finds the matches of many rules that take turns, however many there are', (t) => {
  const beside = detector({ keywords: ['code'], window: { after: 12 }, pattern: '[0-9]{4}' });
  const bytes = Buffer.from('tok_abcd, code is 1234; '.repeat(500));
  const { matches } = createEngine([anchored, { ...beside, id: 'beside' }]).find(bytes, {
    ...limits,
    matchesMax: 1000,
  });
  const starts = Array.from({ length: 500 }, (_, round) => [24 * round + 4, 24 * round + 18]);
  t.same(
    matches.map(({ start }) => start),
    starts.flat(),
  );
  t.end();
});

t.test('a token ends where its alphabet ends', (t) => {
  for (const end of ['<', ')', ',', '|', '&', '"', "'", '`', '\\', ']', '}', ';', '\n', '']) {
    t.same(kindsIn(`x=ghp_{crc:36}${end}`), ['github-token'], end);
  }
  t.end();
});

t.test('a token begins behind an escape, not inside a word', (t) => {
  for (const before of ['\\n', '%3D', '\\u0022', '"', '/'])
    t.same(kindsIn(`${before}AIza{base64url:35} `), ['google-api-key'], before);
  t.same(kindsIn('xAIza{base64url:35} '), []);
  t.end();
});

t.test('searches a keyword window before and behind, each part once', (t) => {
  const near = detector({
    keywords: ['badge'],
    window: { before: 10, after: 10 },
    pattern: '\\b\\d{4}\\b',
    class: 'PII',
  });
  const cases = [
    { text: '1234 badge', count: 1 },
    { text: 'badge 1234', count: 1 },
    { text: 'badge .......... 1234', count: 0 },
    { text: '1234 .......... badge', count: 0 },
    { text: 'badge 1234 badge 1234 badge', count: 2 },
    { text: 'badge 12345', count: 0 },
  ];
  for (const { text, count } of cases) t.equal(find(text, createEngine([near])).matches.length, count, text);
  const repeated = find('badge '.repeat(1000), createEngine([near]));
  t.ok(repeated.searchedBytes < 6100, 'repeated keywords make one window');
  t.end();
});

const illness = detector({
  id: 'illness',
  class: 'PHI',
  confidence: 'low',
  role: 'health',
  needs: ['patient'],
  words: ['asthma', 'sclérose en plaques', 'flu'],
});
const sufferer = detector({
  id: 'sufferer',
  class: 'PHI',
  role: 'patient',
  near: ['health'],
  window: { before: 24, after: 8 },
  pattern: '([A-Z][a-z]{1,20}) has',
  group: 1,
});

t.test('a word is a match where it stands alone, in any case', (t) => {
  const cases = [
    { text: 'Asthma, ASTHMA_flu "flu"', words: ['Asthma', 'ASTHMA', 'flu', 'flu'] },
    { text: 'asthmatic fluent 1flu flu2', words: [] },
    { text: '\\nasthma%20flu%20', words: ['asthma', 'flu'] },
    { text: 'la sclérose en plaques', words: ['sclérose en plaques'] },
  ];
  for (const { text, words } of cases) {
    const bytes = Buffer.from(text);
    const { hints, attempts } = find(bytes, createEngine([illness]));
    t.same(
      hints.map(({ start, end }) => bytes.toString('utf8', start, end)),
      words,
      text,
    );
    t.equal(attempts, 0, 'no pattern is tried');
  }
  t.end();
});

t.test('searches around what others have found, and nowhere else', (t) => {
  const own = createEngine([sufferer, illness]);
  const cases = [
    { text: 'Ann has asthma', names: ['Ann'] },
    { text: 'the flu that Ann has', names: ['Ann'] },
    { text: 'Ann has a cold', names: [] },
    { text: `Ann has ${'.'.repeat(24)} asthma`, names: [] },
    { text: 'flu flu Ann has flu flu', names: ['Ann'] },
  ];
  for (const { text, names } of cases) {
    const { matches } = find(text, own);
    t.same(
      matches.map(({ start, end }) => text.slice(start, end)),
      names,
      text,
    );
  }
  t.match(find('flu '.repeat(10_000), own), { complete: true, matches: [] });
  t.end();
});

t.test('hints are no matches, and count to no limit', (t) => {
  const { matches, hints, complete } = createEngine([illness]).find(Buffer.from('flu asthma flu'), {
    ...limits,
    matchesMax: 1,
  });
  t.match({ matches, complete }, { matches: [], complete: true });
  t.same(
    hints.map(({ confidence }) => confidence),
    ['low', 'low', 'low'],
  );
  t.end();
});

t.test('of a thousand hints and more it keeps one of a kind in half a kilobyte', (t) => {
  const many = find('flu '.repeat(20_000), createEngine([illness])).hints;
  t.equal(many.length, 1000 + Math.ceil(19_000 / 128));
  const last = many.at(-1);
  t.ok(last !== undefined && last.start > 79_000, 'to the end of the text');
  t.end();
});

t.test('a hint that is a published example is none', (t) => {
  const own = createEngine([
    detector({
      ...{ id: 'badge', class: 'PII', confidence: 'low', needs: ['health'] },
      anchors: ['badge '],
      pattern: 'badge \\d{4}',
      placeholders: ['badge 1234'],
    }),
  ]);
  t.equal(find('badge 1234 badge 1235', own).hints.length, 1);
  t.end();
});

const misfits = [
  { fields: { words: ['asthma'], pattern: 'a' }, path: 'pattern' },
  { fields: { words: ['a'] }, path: 'words' },
  { fields: { words: ['asthma'], window: { after: 8 } }, path: 'window' },
  { fields: { words: ['asthma'], anchors: ['a'] }, path: 'anchors' },
  { fields: { anchors: ['a'] }, path: 'pattern' },
  { fields: { near: ['health'], pattern: 'a' }, path: 'window' },
  { fields: { words: ['asthma'], needs: ['patient'] }, path: 'needs' },
  { fields: { words: ['asthma'], confidence: 'low', role: 'person', needs: ['person'] }, path: 'needs' },
];
for (const { fields, path } of misfits) {
  t.test(`refuses ${JSON.stringify(fields)}`, (t) => {
    t.throws(() => detector(fields), new RegExp(`"${path}"`));
    t.end();
  });
}

t.test('what failed a check does not hide what begins inside of it', (t) => {
  const card = detector({ digits: 12, pattern: '\\d{4}(?: \\d{4}){3}', check: 'luhn', class: 'PII' });
  t.equal(find('1234 4111 1111 1111 1111', createEngine([card])).matches.length, 1);
  t.end();
});

t.test('an anchor inside of a match that was not accepted is tried, but not any number of them', (t) => {
  const own = createEngine([
    detector({ anchors: ['key='], boundary: false, pattern: 'key=[a-z0-9=]{4,200}', check: 'random' }),
  ]);
  t.equal(find('key=key=key=a1b2', own).matches.length, 1);
  const { attempts } = find('key='.repeat(10_000), own);
  t.ok(attempts < 3000, `${attempts} attempts`);
  t.end();
});

t.test('reports a span once for each detector, and overlapping spans of different ones', (t) => {
  const first = detector({
    id: 'first',
    keywords: ['tok_', 'ok_a'],
    window: { before: 9, after: 9 },
    pattern: 'tok_[a-z]{4}',
  });
  const { matches } = find('tok_abcd', createEngine([first, anchored]));
  t.same(
    matches.map(({ detector, start, end }) => [detector.id, start, end]),
    [
      ['first', 0, 8],
      ['test', 4, 8],
    ],
  );
  t.end();
});

t.test('a specific detector takes the place of a generic one', (t) => {
  t.same(kindsIn('token = "ghp_{crc:36}"'), ['github-token']);
  t.same(kindsIn('api_key: sk_live_{alnum:24}'), ['stripe-secret-key']);
  t.same(kindsIn('api_key: {alnum:24}'), ['generic-api-key']);
  t.end();
});

t.test('of generic detectors of one class the one that says it first and longest speaks', (t) => {
  t.same(kindsIn('phone: 030 305{digits:4}, jan@posthaus.net'), ['phone-number-named', 'email-address']);
  t.end();
});

t.test('a published or invented value has low confidence', (t) => {
  for (const text of [
    'AKIAIOSFODNN7EXAMPLE',
    '4111 1111 1111 1111',
    'api_key=YOUR_API_KEY_1a2b3c4d5e',
    'password=changeme123!',
  ]) {
    const { matches } = find(text);
    t.ok(matches.length > 0 && matches.every(({ confidence }) => confidence === 'low'), text);
  }
  t.end();
});

const invented = 'x'.repeat(6);
const drowned = [
  { id: 'anthropic-key', text: `sk-ant-api03-{base64url:93}AA${invented}` },
  { id: 'anthropic-key', text: 'sk-ant-api03-{base64url:93}AA-example' },
  { id: 'json-web-token', text: `{jwt:43}${invented}` },
  { id: 'generic-api-key', text: `"api_key":"{alnum:32}-${invented}"` },
  { id: 'generic-api-key', text: `"api_key":"{alnum:32}-${'x'.repeat(60)}"` },
  { id: 'generic-api-key', text: '"api_key":"{alnum:32}-your-example"' },
  {
    id: 'private-key',
    text: `-----BEGIN RSA PRIVATE KEY-----\nComment: example\n{base64:64}\n{base64:64}\n-----END RSA PRIVATE KEY-----`,
  },
  {
    id: 'private-key',
    text: `-----BEGIN PRIVATE KEY-----\n${invented}\n{base64:64}\n{base64:64}\n-----END PRIVATE KEY-----`,
  },
];

t.test('a placeholder beside a secret does not hide it', (t) => {
  drowned.forEach(({ id, text }, index) => {
    t.ok(kindsIn(text).includes(id), `${id} ${index + 1}`);
  });
  t.end();
});

t.test('what is all placeholder behind its prefix has low confidence', (t) => {
  for (const text of [
    `sk-ant-api03-${'x'.repeat(95)}`,
    `sk-ant-api03-your-api-key-here-${'x'.repeat(80)}`,
    `xoxb-123456789012-1234567890123-${'x'.repeat(24)}`,
    `-----BEGIN PRIVATE KEY-----\n${'x'.repeat(64)}\n-----END PRIVATE KEY-----`,
  ]) {
    const { matches } = find(text);
    t.ok(matches.length > 0 && matches.every(({ confidence }) => confidence === 'low'), text.slice(0, 30));
  }
  t.end();
});

t.test('a letter or an underscore beside a token does not hide it', (t) => {
  const cases = [
    { id: 'anthropic-key', text: 'xsk-ant-api03-{base64url:93}AA' },
    { id: 'anthropic-key', text: '_sk-ant-api03-{base64url:93}AA' },
    { id: 'aws-access-key-id', text: '_AKIA{base32:16}' },
    { id: 'aws-access-key-id', text: '-AKIA{base32:16}' },
    { id: 'google-api-key', text: '_AIza{base64url:35} ' },
    { id: 'json-web-token', text: 'x{jwt:43}' },
  ];
  for (const { id, text } of cases) t.ok(kindsIn(text).includes(id), text);
  for (const text of ['xAKIA{base32:16}', 'AKIA{base32:16}x', '9AKIA{base32:16}_']) {
    const [match] = find(expandSample(text)).matches;
    t.equal(match?.confidence, 'medium', text);
  }
  t.end();
});

t.test('a password in a URL is no e-mail address', (t) => {
  const kinds = kindsIn('postgres://app:{alnum:12}@db.acme.io/main');
  t.notOk(kinds.includes('email-address'));
  t.ok(kinds.length > 0);
  t.same(kindsIn('mail to=jane.doe@corp-mail.com'), ['email-address']);
  t.end();
});

t.test('a failed checksum lowers the confidence where the detector says so', (t) => {
  t.equal(find(expandSample('ghp_{crc:36}')).matches[0]?.confidence, 'high');
  t.equal(find(expandSample('ghp_{alnum:36}')).matches[0]?.confidence, 'medium');
  t.end();
});

t.test('says that it is not complete when there are more matches than allowed', (t) => {
  const own = createEngine([anchored]);
  const text = Buffer.from('tok_abcd '.repeat(5));
  t.match(own.find(text, { ...limits, matchesMax: 5 }), { complete: true, matches: { length: 5 } });
  t.match(own.find(text, { ...limits, matchesMax: 4 }), { complete: false, matches: { length: 4 } });
  t.end();
});

t.test('ends soon after its time is over, and says so', (t) => {
  const found = createEngine([anchored]).find(Buffer.from('tok_ '.repeat(50_000)), {
    ...limits,
    isOver: () => true,
  });
  t.notOk(found.complete);
  t.ok(found.attempts <= 64);
  t.end();
});

t.test('looks at the clock all along, whatever the text is full of, and ends when it says so', (t) => {
  for (const text of [' ghp_', 'sk-', '@', 'a@b.c ', '-us', '4111 ', ' eyJ', 'password=']) {
    const bytes = Buffer.from(text.repeat(Math.ceil((1 << 20) / text.length)));
    let asked = 0;
    engine.find(bytes, { ...limits, isOver: () => ++asked < 0 });
    t.ok(asked >= 16, `${text} asks ${asked} times`);
    const last = Math.floor(asked / 2);
    let again = 0;
    const { complete } = engine.find(bytes, { ...limits, isOver: () => ++again >= last });
    t.notOk(complete, text);
    t.ok(again <= last + 16, `${text} asks ${again} times, of which ${last} are granted`);
  }
  t.end();
});

t.test('finds once what lies across the pieces in which a long window is searched', (t) => {
  const own = createEngine([
    detector({ keywords: ['@'], window: { before: 9 }, pattern: '[a-z]{4}@[a-z]{4}' }),
  ]);
  for (let offset = 0; offset < 24; offset++) {
    const text = `${'@'.repeat(32_768 - offset)}abcd@efgh${'@'.repeat(40_000)}`;
    t.same(
      find(text, own).matches.map(({ start }) => start),
      [32_768 - offset],
      `${offset}`,
    );
  }
  t.end();
});

t.test('does not try a pattern on text without an anchor, keyword or number', (t) => {
  t.match(find('The quarterly report lists all open items for the team.'.repeat(500)), {
    attempts: 0,
    searchedBytes: 0,
    complete: true,
  });
  t.end();
});

const uuid = '{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}';
const harmless = [
  { name: 'UUIDs', text: `"id":"${uuid}","parent_id":"${uuid}"` },
  { name: 'digests', text: 'sha256:{hex:64} md5 {hex:32} etag "{hex:40}"' },
  { name: 'commits', text: 'commit {hex:40}\nParent: {hex:40}\nuses: actions/checkout@{hex:40}' },
  {
    name: 'lock files',
    text: '"integrity": "sha512-{base64:86}==", "resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz"',
  },
  { name: 'go.sum', text: 'golang.org/x/text v0.3.7 h1:{base64:43}=\n' },
  {
    name: 'public keys',
    text: '-----BEGIN PUBLIC KEY-----\n{base64:64}\n{base64:64}\n-----END PUBLIC KEY-----',
  },
  { name: 'SSH keys', text: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{base64:43} bob@host' },
  { name: 'certificates', text: '-----BEGIN CERTIFICATE-----\n{base64:64}\n-----END CERTIFICATE-----' },
  { name: 'cache keys', text: 'cache-key: linux-node-{hex:64}\nrestore-keys: linux-node-' },
  {
    name: 'cursors and forgery tokens',
    text: '"next_page_token":"{base64url:40}","csrf_token":"{base64url:40}"',
  },
  {
    name: 'code that reads secrets',
    text: 'const token = process.env.API_TOKEN; if (!user.password) throw new Error("password missing")',
  },
  {
    name: 'settings of secrets',
    text: 'minPasswordLength: 10\ntokenTtlSeconds: 86400\nsecretName: my-app\nsecretKeyRef: { name: db, key: password }',
  },
  {
    name: 'numbers',
    text: 'ts=1700000000123 order 20240115103000123456 price 12.345678901234 phone-model 12345',
  },
  { name: 'versions', text: 'Chrome/124.0.6367.118 v10.2.3 react@18.2.0 1.2.3-beta.4' },
  {
    name: 'ordinary uses of marking words',
    text: 'confidential clients use PKCE; do not share a lock; proprietary formats; the secret of good tea',
  },
  { name: 'publishable keys', text: 'pk_live_{alnum:24} "publishableKey":"pk_test_{alnum:24}"' },
  { name: 'binary data', text: `data:image/png;base64,iVBORw0KGgo{base64:800}` },
];

for (const { name, text } of harmless) {
  t.test(`passes ${name}`, (t) => {
    t.same(kindsIn(text), []);
    t.end();
  });
}

t.test('random bytes neither throw nor match a secret', (t) => {
  for (let round = 0; round < 20; round++) {
    const { matches, complete } = find(randomBytes(20_000));
    t.ok(complete);
    t.notOk(matches.some(({ detector }) => detector.class === 'SECRETS' && !detector.isGeneric));
  }
  t.end();
});
