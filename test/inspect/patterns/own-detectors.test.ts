import t from 'tap';
import { createEngine } from '../../../src/inspect/match/engine.ts';
import { OwnWordError, ownHost, ownMarker } from '../../../src/inspect/patterns/own-detectors.ts';

const limits = { matchesMax: 100, isOver: () => false };

/** What the detector finds in the text. */
const found = (detector: ReturnType<typeof ownHost>, text: string): string[] => {
  const bytes = Buffer.from(text);
  const { matches } = createEngine([detector]).find(bytes, limits);
  return matches.map(({ start, end }) => bytes.toString('utf8', start, end));
};

const hosts: readonly { glob: string; text: string; want: readonly string[] }[] = [
  { glob: 'git.acme.com', text: 'https://git.acme.com/a', want: ['git.acme.com'] },
  { glob: 'git.acme.com', text: 'GIT.ACME.COM:8443', want: ['GIT.ACME.COM'] },
  { glob: 'git.acme.com', text: 'xgit.acme.com a.git.acme.com git.acme.com.evil.example', want: [] },
  { glob: 'git.acme.com', text: 'gitxacme.com', want: [] },
  { glob: '*.corp.acme.com', text: 'at a.b.corp.acme.com, not corp.acme.com', want: ['a.b.corp.acme.com'] },
  { glob: 'build-?.acme.com', text: 'build-7.acme.com build-17.acme.com', want: ['build-7.acme.com'] },
  { glob: 'db*.acme.*', text: 'db-1.eu.acme.lan', want: ['db-1.eu.acme.lan'] },
  { glob: 'a**b.acme.com', text: 'a1b.acme.com', want: ['a1b.acme.com'] },
];
for (const { glob, text, want } of hosts) {
  t.test(`the host ${glob} is ${want.length > 0 ? '' : 'not '}found in "${text}"`, async (t) => {
    t.strictSame(found(ownHost(glob), text), want);
  });
}

const markers: readonly { marker: string; text: string; want: number }[] = [
  { marker: 'Acme Confidential', text: 'ACME CONFIDENTIAL - acme\n   confidential', want: 2 },
  { marker: 'Acme Confidential', text: 'Acme Confidentially, xAcme Confidential', want: 0 },
  { marker: 'Project Übermut', text: 'project übermut, PROJECT ÜBERMUT and Project  Übermut', want: 3 },
  { marker: '社外秘', text: '【社外秘】', want: 1 },
  { marker: 'C++ (internal)', text: 'c++ (internal)', want: 1 },
  { marker: ' a b c d ', text: 'a b c d', want: 1 },
  { marker: 'X1 Rollout', text: 'the x1 rollout', want: 1 },
];
for (const { marker, text, want } of markers) {
  t.test(`the marker "${marker}" is found ${want} times in "${text}"`, async (t) => {
    t.equal(found(ownMarker(marker), text).length, want);
  });
}

t.test('what every text has, or what would be slow, is refused with its reason', async (t) => {
  const cases: readonly [make: () => unknown, says: RegExp][] = [
    [() => ownHost('*'), /3 characters in a row/],
    [() => ownHost('*.?a'), /3 characters in a row/],
    [() => ownHost('*a*b*c*.acme.com'), /more than 3 stars/],
    [() => ownMarker('ab'), /at least 3 characters/],
    [() => ownMarker('  a  '), /at least 3 characters/],
    [() => ownMarker('x'.repeat(101)), /more than 100 characters/],
  ];
  for (const [make, says] of cases) t.throws(make, { name: OwnWordError.name, message: says });
  t.ok(ownHost('*a*b*c.acme.com'), 'three stars are not too many');
  t.ok(ownMarker('ü '.repeat(50)), 'nor are a hundred characters');
});
