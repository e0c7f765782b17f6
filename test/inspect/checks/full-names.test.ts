import t from 'tap';
import { fullNameChecks } from '../../../src/inspect/checks/full-names.ts';

/** As checks see it: a character for each byte. */
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

const table: Record<keyof typeof fullNameChecks, { yes: readonly string[]; no: readonly string[] }> = {
  'person-name': {
    yes: [
      'Maria Keller',
      'KELLER, MARIA',
      'KELLER^MARIA',
      latin1('Lucía Fernández'),
      'Ji-woo O\u2019Brien',
      'J. Doerr',
    ],
    no: [
      'Blood Pressure',
      'Johns Hopkins',
      'John Doe',
      'World Health',
      'Dr. Ann',
      'Maria+Hospital',
      'New York',
    ],
  },
  'known-name': {
    yes: [
      'Uwe Lang',
      'KELLER, MARIA',
      'KELLER^MARIA',
      latin1('Bérengère Perrault'),
      latin1('Łukasz Nowak'),
      'Marie-Claude Roy',
    ],
    // Nobody is called so; a heading; a place; a firm with the name of somebody.
    no: ['Zqx Lang', 'Getting Started', 'New York', 'Maria Hospital', 'Robert Koch-Institut'],
  },
};

for (const [name, { yes, no }] of Object.entries(table) as [
  keyof typeof fullNameChecks,
  { yes: string[]; no: string[] },
][]) {
  t.test(`${name} tells names of persons from headings, firms and places`, (t) => {
    for (const text of yes) t.ok(fullNameChecks[name](text), text);
    for (const text of no) t.notOk(fullNameChecks[name](text), text);
    t.end();
  });
}
