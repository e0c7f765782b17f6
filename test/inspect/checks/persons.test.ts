import t from 'tap';
import { personChecks } from '../../../src/inspect/checks/persons.ts';

/** As checks see it: a character for each byte. */
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

const table: Record<keyof typeof personChecks, { yes: readonly string[]; no: readonly string[] }> = {
  'birth-date': {
    yes: [
      '1980-02-03',
      '1946-05-17T00:00:00Z',
      '1980-02-02T23:00:00.000+0100',
      '02/28/2001',
      '28.2.2001',
      '3. 2. 80',
      '19800203',
      '03021980',
      '14 January 1963',
      'May 4th, 1956',
      '3 de febrero de 1971',
      '3 février 1971',
      '1985年4月12日',
      '1985년 4월 12일',
    ],
    // No month, no day, nobody alive, no date, a word that is no month, when something happened.
    no: [
      '2026-04-27T16:53:12Z',
      '2026-01-12T18:19:45.148Z',
      '13/13/1980',
      '1980-02-32',
      '14 March 1679',
      '2041-01-01',
      '18991231',
      '1980',
      '12 Monkeys 1995',
    ],
  },
  'public-address': {
    yes: ['94.16.118.7', '203.6.255.45', '2a02:8109:9ac0:1d2c:88f1:2c3d:4e5f:6071'],
    // Private, shared, loopback, documentation, multicast, masks, resolvers, identifiers of X.500, examples, no addresses.
    no: [
      '10.0.0.5',
      '100.64.1.2',
      '172.31.255.1',
      '192.168.1.1',
      '127.0.0.1',
      '169.254.169.254',
      '203.0.113.9',
      '224.0.0.251',
      '255.255.255.0',
      '8.8.8.8',
      '1.1.1.1',
      '2.5.4.35',
      '1.2.3.4',
      '4.4.4.4',
      '73.136.74.256',
      '73.136.074.119',
      '2001:db8:85a3::8a2e:370:7334',
      'fe80::1ff:fe23:4567:890a',
      'fd12:3456:789a:1::1',
      '::ffff:94.16.118.7',
      '1::1',
      '12:30:45',
    ],
  },
  'machine-address': {
    yes: ['3c:22:fb:4a:9d:10', 'A4-83-E7-2F-11-C8', '3c22.fb4a.9d10'],
    // Multicast, broadcast, nothing, too short, documentation and virtual routers (RFC 9542), what comes to mind.
    no: [
      '01:00:5e:7f:11:c8',
      'ff:ff:ff:ff:ff:ff',
      '00:00:00:00:00:00',
      '3c:22:fb:4a:9d',
      '00:00:5e:00:53:01',
      '00-00-5E-00-01-0A',
      '00:11:22:33:44:55',
    ],
  },
  'exact-position': {
    yes: ['46.948129, 7.447447', '-33.856784,151.215297', '52.520008, "lng": 13.404954'],
    // The Eiffel tower, beyond the pole, beyond the date line, one number.
    no: ['48.8584, 2.2945', '98.765432, 12.345678', '12.345678, 198.765432', '44.986216'],
  },
  address: {
    yes: [
      'Evelineboulevard 798, 4281, Leuven',
      '3807 Sarah Ridges Suite 032, Pagemouth',
      'набережна Флейтова, буд. 94, Зборів',
      '安徽省宁市长寿太原街t座 529886',
    ],
    // No number, no part behind it, of a machine, a page, a sentence, in small letters.
    no: [
      'Main Street, Leeds',
      'Mill Road 12',
      '10.20.30.40, Port 80',
      'https://Host Name/Path, 12345',
      'Fix the Parser, Issue 2026',
      'see item 4, row 1234',
      'Addr Value) CALL_IT(B, 2000',
    ],
  },
  'plain-name': {
    yes: ['Ines Moser', 'Maria del Carmen Ruiz', 'Jean-Luc', 'Gürgün Dayıoğlu'],
    no: ['Max Mustermann', 'Release Branch', 'Dear Customer', 'Sign In', 'ID', 'Health Check'],
  },
  handle: {
    yes: ['@ines_moser85', 'tom.berger81', 'stefan_d', 'wei2'],
    no: ['unknown', 'none', 'client', '12345'],
  },
};

for (const [name, { yes, no }] of Object.entries(table)) {
  t.test(`${name} tells what is a person's from what is not`, (t) => {
    const check = personChecks[name as keyof typeof personChecks];
    for (const text of yes) t.ok(check(latin1(text)), text);
    for (const text of no) t.notOk(check(latin1(text)), text);
    t.end();
  });
}
