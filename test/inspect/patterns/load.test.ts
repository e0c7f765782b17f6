import { writeFileSync } from 'node:fs';
import t from 'tap';
import { loadDetectors } from '../../../src/inspect/patterns/load.ts';
import { expandSample } from '../../support/samples.ts';

const valid = (id: string): string =>
  `id: ${id}\ntitle: A token\nclass: SECRETS\nconfidence: high\nanchors: [tok_]\npattern: tok_[a-z]{8}\nexamples: { match: [a, b], pass: [c, d] }\nsource: RFC 4648, section 4\n`;

t.test('loads one detector or several of a file', (t) => {
  const dir = t.testdir({
    'a.yaml': valid('one'),
    'b.yaml': `${valid('two')}---\n${valid('three')}`,
    'notes.txt': 'not read',
  });
  t.same(
    loadDetectors(dir).map(({ id }) => id),
    ['one', 'two', 'three'],
  );
  t.end();
});

const mistakes = [
  { name: 'an unknown key', change: 'anchor: [x]', says: /file\.yaml: one: .*anchor/ },
  {
    name: 'a repeated id',
    change: `---\n${valid('one')}`,
    says: /file\.yaml: one: id: is taken by file\.yaml/,
  },
  {
    name: 'an unbounded quantifier',
    change: 'pattern: tok_[a-z]+',
    says: /one: pattern: a quantifier is unbounded/,
  },
  { name: 'a pattern that does not compile', change: 'pattern: tok_(', says: /one: pattern: / },
  {
    name: 'an unbounded placeholder',
    change: 'placeholders: ["/a*b/"]',
    says: /one: pattern: a quantifier is unbounded/,
  },
  {
    name: 'keywords without a window',
    change: 'anchors: []\nkeywords: [tok]',
    says: /one: window: keywords and near need a window/,
  },
  {
    name: 'a window of anchors',
    change: 'window: { after: 4 }',
    says: /one: window: anchors and words have no window/,
  },
  {
    name: 'no way to start',
    change: 'anchors: []',
    says: /one: anchors: exactly one of anchors, keywords, digits, words and near/,
  },
  {
    name: 'a part that there is not',
    change: "pattern: 'tok_{{constructor}}'",
    says: /one: pattern: there is no part \{\{constructor\}\}/,
  },
  { name: 'two ways to start', change: 'digits: 9', says: /one: anchors: exactly one of/ },
  {
    name: 'a home without a host',
    change: 'home_places: [path]',
    says: /one: home_places: no host is home without vendor_hosts/,
  },
  {
    name: 'a home that is no place of a call',
    change: 'vendor_hosts: [a.com]\nhome_places: [body]',
    says: /one: home_places.*: must be path, header:name or query:name/,
  },
  { name: 'an unknown check', change: 'check: crc', says: /one: check: / },
  {
    name: 'no example that must pass',
    change: 'examples: { match: [a], pass: [] }',
    says: /one: examples\.pass: /,
  },
  {
    name: 'a single example that must pass',
    change: 'examples: { match: [a, b], pass: [c] }',
    says: /one: examples\.pass: needs 2 or more/,
  },
  {
    name: 'a single example that must match',
    change: 'examples: { match: [a], pass: [c, d] }',
    says: /one: examples\.match: needs 2 or more/,
  },
  {
    name: 'a format that is documented nowhere',
    change: 'source:',
    says: /one: source: /,
  },
  { name: 'a broken document', change: 'title: "', says: /file\.yaml: / },
];

for (const { name, change, says } of mistakes) {
  t.test(`refuses ${name}`, (t) => {
    const replaced = change.split('\n').map((line) => line.split(':')[0]);
    const kept = valid('one')
      .split('\n')
      .filter((line) => change.startsWith('---') || !replaced.includes(line.split(':')[0]));
    const dir = t.testdir({ 'file.yaml': [...kept, change].join('\n') });
    t.throws(() => loadDetectors(dir), says);
    t.end();
  });
}

t.test('a credential has the usual home places, those of its file, or none', (t) => {
  const dir = t.testdir({
    'a.yaml': `${valid('usual')}vendor_hosts: [a.com]\n`,
    'b.yaml': `${valid('own')}vendor_hosts: [a.com]\nhome_places: ['query:X-Key', path]\n`,
    'c.yaml': valid('homeless'),
    'd.yaml': `${valid('secret')}vendor_hosts: [a.com]\nhome_places: []\n`,
  });
  const [usual, own, homeless, secret] = loadDetectors(dir).map(({ homePlaces }) => homePlaces);
  t.ok(usual?.includes('header:authorization') && usual.includes('query:access_token'));
  t.same(own, ['query:x-key', 'path']);
  t.same([homeless, secret], [[], []]);
  t.end();
});

t.test('reports all mistakes of all files at once', (t) => {
  const dir = t.testdir({
    'a.yaml': valid('Bad Id'),
    'b.yaml': `${valid('fine')}---\ntitle: nothing else\n`,
  });
  t.throws(() => loadDetectors(dir), { message: /a\.yaml: Bad Id: id: [\s\S]*b\.yaml: document 2: id: / });
  t.end();
});

t.test('says what is wrong with the fields of a detector and with its pattern at once', (t) => {
  const dir = t.testdir({
    'a.yaml': valid('one')
      .replace(/^pattern.*$/m, 'pattern: tok_[a-z]+\ndigits: 9')
      .replace(/^source.*$/m, ''),
  });
  t.throws(() => loadDetectors(dir), { message: /one: anchors: [\s\S]*one: source: [\s\S]*one: pattern: / });
  t.end();
});

t.test('does not follow aliases, which could multiply', (t) => {
  const dir = t.testdir();
  writeFileSync(`${dir}/a.yaml`, `${valid('one')}x: &a [1]\ny: *a\n`);
  t.throws(() => loadDetectors(dir));
  t.end();
});

t.test('writes examples out the same at every run', (t) => {
  const example = 'a {hex:32} b {crc:36} {jwt:20} {basic:bob} {digits64:18} {unknown:3}';
  t.equal(expandSample(example), expandSample(example));
  t.match(
    expandSample(example),
    /^a [0-9a-f]{32} b [0-9A-Za-z]{36} eyJ\S+ [A-Za-z0-9+/]+=* [MNO][\w-]{23} \{unknown:3\}$/,
  );
  t.end();
});
