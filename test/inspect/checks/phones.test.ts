import t from 'tap';
import { phoneChecks } from '../../../src/inspect/checks/phones.ts';

/*
 * Numbers that belong to nobody or are printed everywhere: what regulators keep for films (Ofcom, ACMA, NANPA), switchboards of ministries
 * and museums, and numbers of the same plan with other digits.
 */
const table: Record<keyof typeof phoneChecks, { yes: readonly string[]; no: readonly string[] }> = {
  nanp: {
    yes: ['(415) 738-2671', '+1 415 738 2671', '1-415-738-2671'],
    // No area begins with 1, no exchange begins with 1, fiction, service codes, too short.
    no: ['123-456-7890', '415-138-2671', '415-555-0123', '911-738-2671', '415-911-2671', '738-2671'],
  },
  phone: {
    yes: [
      '+49 30 901820112',
      '+49 (0)30 8832069',
      '+14155552671',
      '+33 1 40 20 50 50',
      '+39 06 6982 1234',
      '+34 612 345 678',
      '+48 589 073 985',
      '+7 495 123-45-67',
      '+81 90-9153-0122',
      '+82 10-6085-0013',
      '+86 138 1234 5678',
      '+91 98765 43210',
      '+52 1 55 1234 5678',
      '+54 9 11 2345-6789',
      '+55 11 94005-3971',
      '+61 2 6277 7111',
      '+972 50 123 4567',
    ],
    // No such country code, too short, of one digit, too long, no area of the United States, for films.
    no: [
      '+44 7700 900123',
      '+61 491 570 156',
      '+49 171 3920012',

      '+210 123 456 789',
      '+999 30 8832069',
      '+49 30',
      '+1111111111',
      '+4915112345678901',
      '+1 115 738 2671',
    ],
  },
  'phone-national': {
    yes: ['030 18681 0', '0171 4595543', '07747 765389', '06 12 34 56 78', '612 34 56 78', '0049 30 901820'],
    // A day, years, an address on the Internet, a ZIP code, zeros, nothing's plan, an unknown country behind 00.
    no: [
      '2026-11-21',
      '2012-2022',
      '94.16.118.7',
      '02110-1301',
      '00000000',
      '9998832069123',
      '00999 30 8832069',
    ],
  },
  'phone-named': {
    yes: ['07046 457922', '668 5702', '+49 30 901820', '(415) 738-2671', '06.12.34.56.78'],
    no: [
      '12 34 56',
      '1234567890123456',
      '7777777777',
      '2026-11-21',
      '20261121',
      '10.20.30.40',
      '415-555-0123',
      '+999 1234567',
    ],
  },
};

for (const [name, { yes, no }] of Object.entries(table)) {
  t.test(`${name} tells phone numbers from others`, (t) => {
    const check = phoneChecks[name as keyof typeof phoneChecks];
    for (const text of yes) t.ok(check(text), text);
    for (const text of no) t.notOk(check(text), text);
    t.end();
  });
}
