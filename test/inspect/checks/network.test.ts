import t from 'tap';
import { networkChecks } from '../../../src/inspect/checks/network.ts';

const table: Record<keyof typeof networkChecks, { yes: readonly string[]; no: readonly string[] }> = {
  ipv6: {
    // The forms of RFC 4291, section 2.2.
    yes: ['fd12:3456:789a:1:2:3:4:5', 'fd12:3456:789a::1', 'fd12:3456::/48', 'fe80::1', '::', 'fd00::/128'],
    // Seven groups, nine, two gaps, a group of five digits, a prefix that is too long.
    no: [
      'fd12:1:2:3:4:5:6',
      'fd12:1:2:3:4:5:6:7:8',
      'fd12::1::2',
      'fd12::12345',
      'fd12::/129',
      '',
      '10.0.0.1',
    ],
  },
  'file-share': {
    yes: [
      String.raw`\\HQ-NAS06\Finance`,
      String.raw`\\fs01.corp.acme.com\payroll$`,
      String.raw`\\10.20.4.8\backup`,
      String.raw`\\fileserver2\x`,
      String.raw`\\nas\x`,
    ],
    // The examples of manuals, escaped line feeds and letters, a word that names no machine, no share.
    no: [
      String.raw`\\server\share`,
      String.raw`\\localhost\c$`,
      String.raw`\\nNAME\n`,
      String.raw`\\u00e4\x`,
      String.raw`\\word\x`,
      String.raw`\\HQ-NAS06`,
      '',
    ],
  },
};

for (const [name, { yes, no }] of Object.entries(table) as [
  keyof typeof networkChecks,
  typeof table.ipv6,
][]) {
  t.test(`${name} tells what is one from what is none`, async (t) => {
    for (const text of yes) t.ok(networkChecks[name](text), text);
    for (const text of no) t.notOk(networkChecks[name](text), text);
  });
}
