import t from 'tap';
import type { Confidence } from '../../../src/core/call.ts';
import { weighHints } from '../../../src/inspect/match/evidence.ts';
import { engine } from '../../support/detectors.ts';
import { expandSample } from '../../support/samples.ts';

/** What is found of class PII, with the confidence that it has beside all else. */
function found(text: string): Map<string, Confidence> {
  const bytes = Buffer.from(expandSample(text));
  const { matches, hints } = engine.find(bytes, { matchesMax: 100, isOver: () => false });
  const [sure, unsure] = [matches, hints].map((list) =>
    list.map((match) => ({ match, start: match.start, end: match.end })),
  ) as [Placed[], Placed[]];
  return new Map(
    [...sure, ...weighHints(sure, unsure)]
      .filter(({ match }) => match.detector.class === 'PII')
      .map(({ match, start, end }) => [bytes.toString('utf8', start, end), match.confidence]),
  );
}

type Placed = { match: ReturnType<typeof engine.find>['matches'][number]; start: number; end: number };

t.test('a name counts beside what points to the person, not alone', (t) => {
  const name = '"full_name": "Ines Moser"';
  t.equal(found(`{${name}, "plan": "pro"}`).get('Ines Moser'), 'low');
  for (const fact of [
    '"dob": "1980-02-03"',
    '"email": "ines@posthaus.net"',
    '"phone": "030 305{digits:4}"',
    '"address": "18 The Beeches, Madison, WI 53703"',
  ])
    t.equal(found(`{${name}, ${fact}}`).get('Ines Moser'), 'medium', fact);
  t.end();
});

t.test('a name far from all else stays one of low confidence', (t) => {
  const far = ' and so on'.repeat(200);
  t.equal(found(`"full_name": "Ines Moser"${far} ines@posthaus.net`).get('Ines Moser'), 'low');
  t.end();
});

t.test('an address counts where it stands with a user', (t) => {
  t.equal(found('user ines logged in from 94.16.118.7').get('94.16.118.7'), 'medium');
  t.notOk(found('resolver 94.16.118.7 answered in 43 ms').has('94.16.118.7'));
  t.end();
});

t.test('a whole table of persons is found, row by row', (t) => {
  const rows = Array.from(
    { length: 8 },
    (_, row) => `Ines;198${row}-02-03;0171 459{digits:4};ines${row}@posthaus.net`,
  );
  const kinds = found(`first_name;dob;phone;email\n${rows.join('\n')}\n`);
  for (let row = 0; row < 8; row++) {
    t.equal(kinds.get(`198${row}-02-03`), 'medium');
    t.equal(kinds.get(`ines${row}@posthaus.net`), 'medium');
  }
  t.equal([...kinds.keys()].filter((text) => text.startsWith('0171')).length, 8);
  t.end();
});

t.test('what looks personal and is not is left alone', (t) => {
  for (const text of [
    'order no 992-782-8229-38',
    'Upgrade to version 55.11.169.73 of the driver',
    'The treaty was signed on 15 March 1991',
    'Eiffel Tower 48.8584, 2.2945; Big Ben 51.5007, -0.1246',
    'The mobile client build 265665636 is out since 2026-11-21',
    'to address 3 bugs in the parser, see below',
    'Free Software Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA',
    'New York, NY 10001 has 25,000 people',
    'jane@example.com, +1 415 555 0123',
  ])
    t.same(
      [...found(text).values()].filter((confidence) => confidence !== 'low'),
      [],
      text,
    );
  t.end();
});
