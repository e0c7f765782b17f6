import t from 'tap';
import { paymentChecks } from '../../../src/inspect/checks/payment.ts';

type Name = Exclude<keyof typeof paymentChecks, 'luhn' | 'iban'>;

/** The others stand in checks.test.ts. */
const table: Record<Name, { yes: readonly string[]; no: readonly string[] }> = {
  card: {
    yes: ['4716190207394368', '5660 9227 1650 310903', '4539.5787.6362.1486', '6212345678901234569'],
    // A wrong check digit, as long as an id, a number of 64 bits, counted up.
    no: ['4716190207394369', '566092271650310903', '4539578763621486024', '5414 5415 5416 5417'],
  },
  'other-card': {
    yes: ['4005802264908', '503867297114', '3598 8993 2305 3410', '0604 2607 0011', '566092271650310903'],
    // A wrong check digit, a network of the table, a time in milliseconds, zeros, too long.
    no: ['503867297115', '4111111111111111', '1774578781003', '000000000000', '50386729711400000000'],
  },
  'aba-routing': {
    yes: ['021000021', '011000015', '121000358'],
    // A wrong check digit, no district, too short.
    no: ['021000022', '991000025', '02100002'],
  },
  cbu: { yes: ['28505909 40090418135201'], no: ['28505908 40090418135201', '2850590940090418135202'] },
  clabe: {
    yes: ['032180000118359719', '002 115 01600326941 1'],
    no: ['032180000118359718', '03218000011835971'],
  },
  'es-ccc': { yes: ['2100 0418 45 0200051332'], no: ['2100 0418 54 0200051332', '2100 0418 45 020005133'] },
  'fr-rib': {
    yes: ['30002 00550 0000157841Z 25', '20041 01005 0500013M026 06'],
    no: ['30002 00550 0000157841Z 26', '30002 00550 0000157841 25'],
  },
};

for (const [name, { yes, no }] of Object.entries(table)) {
  t.test(`${name} tells numbers that are issued from others`, (t) => {
    for (const text of yes) t.ok(paymentChecks[name as Name](text), text);
    for (const text of no) t.notOk(paymentChecks[name as Name](text), text);
    t.end();
  });
}
