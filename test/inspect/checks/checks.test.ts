import t from 'tap';
import { newKeyText } from '../../../src/core/key-text.ts';
import { type CheckName, checks, entropyBits } from '../../../src/inspect/checks/checks.ts';
import { crcChecksum } from '../../../src/inspect/checks/tokens.ts';
import { mayStartToken } from '../../../src/inspect/match/token-start.ts';
import { isPlaceholder } from '../../../src/inspect/patterns/placeholder.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const crcToken = `pre_${'a'.repeat(30)}${crcChecksum('a'.repeat(30))}`;

/** As a check sees it: a character for each byte. */
const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

/** Families with a file of their own in checks/ are tested there. */
const table: Partial<Record<CheckName, { yes: readonly string[]; no: readonly string[] }>> = {
  luhn: { yes: ['4111 1111 1111 1111', '79927398713'], no: ['4111 1111 1111 1112', '79927398710'] },
  card: {
    yes: [
      '4716190207394368',
      '5425 2334 3010 9903',
      '371449635398431',
      '6011000990139424',
      '2223003122003222',
    ],
    // A wrong check digit, no network, a length that the network does not issue, one digit only.
    no: ['4716190207394369', '1234567812345670', '47161902073943', '0000000000000000'],
  },
  ssn: {
    yes: ['536-22-8726', '536228726'],
    no: ['000-12-3456', '666-12-3456', '900-12-3456', '123-00-4567', '123-45-0000', '12-34-5678'],
  },
  iban: {
    yes: ['DE89 3704 0044 0532 0130 00', 'GB33BUKB20201555555555', 'FR7630006000011234567890189'],
    no: ['DE88 3704 0044 0532 0130 00', 'DE8937040044053201300', 'ZZ89370400440532013000'],
  },
  'prefixed-crc': { yes: [crcToken], no: [`${crcToken.slice(0, -1)}!`, crcToken.replace('aaa', 'aab')] },
  'postern-key': {
    yes: [newKeyText('live'), newKeyText('ephemeral')],
    no: [newKeyText('live').slice(0, -1), `iv_live_${'0'.repeat(49)}`],
  },
  jwt: {
    yes: [`${base64('{"alg":"RS256"}')}.e30.x`],
    no: [
      `${base64('{"typ":"JWT"}')}.e30.x`,
      `${base64('{"alg":')}.e30.x`,
      `${base64('null')}.e30.x`,
      '!!.e30.x',
    ],
  },
  'discord-token': {
    yes: [
      `${base64('198622483471925248')}.x.y`,
      `${base64('1'.repeat(17))}.x.y`,
      `${base64('9'.repeat(20))}.x.y`,
    ],
    no: [
      `${base64('1'.repeat(16))}.x.y`,
      `${base64('1'.repeat(21))}.x.y`,
      `${base64('0'.repeat(18))}.x.y`,
      `${base64('19862248347192524a')}.x.y`,
      'MTx.y',
      '',
    ],
  },
  'basic-credential': {
    yes: [base64('bob:hunter22')],
    no: [base64('bob'), base64('bob:x'), base64('{"alg":"none"}'), 'authentication'],
  },
  'password-like': {
    yes: [
      ...['hunter2x', 'Tr0ub4dor&3', 'p@ssphrase', 'Dragon-kiwi-25', 'xqzjkvwqpx'],
      utf8('größe-пароль-42'),
      'Gr\xfc\xdfe-aus-K\xf6ln7', // in Latin-1
      'Tr0ub\x014dor&3', // hidden
    ],
    no: [
      'required.',
      'string',
      'user.password1',
      'base64.b64decode',
      'connection.credentials[2]',
      'parts[1]',
      'm9H\x85\x8f\x8d', // bytes of an archive
      'vault:secret/app1',
      '2026-03-04T10:45:02Z',
      '/srv/build/4711/src',
      '~/.ssh/id_ed25519',
      'C:\\build\\app-2.1',
      'ENC[AES256_GCM',
      '!vault',
      '0x52908400098527886E0F7030069857D2E4169EE7',
      'base64',
      '12-character',
      '90days',
      '12345678',
      'a1',
      '\xc6\xf5\x1c4a\x07V', // of a picture or a program
      '6\xd5P$\xfa)\xe1\x99k',
    ],
  },
  chosen: {
    yes: ['couch-trip-update3971', 'N0rdlynx8767!', 'Moselra&10xGBu', '46WDvQjlbc98A6x9fS5n', 'S3cret!7'],
    no: [
      'my-app-2',
      'server-01',
      'AADSTS50126',
      'sha256-hashed',
      'bob7@Example.com',
      'https://example.com/a1B2',
      'required',
    ],
  },
  told: {
    yes: ['Topaz_2017', 'Falcon-Amber64', 'js8s2vdj6', 'cobalt2766', 'Walnut35!', 'd3lt479$', 'S3cret!7'],
    no: [
      'server-01',
      'RFC7617',
      'SHA256',
      'v1.2.3',
      'password123',
      '#8521fa',
      'node-22',
      'x/y2z3',
      'required',
    ],
  },
  typed: {
    yes: ['FIOVdGgo53', 'Saffron.mkzIrw88', 'Cobalt_orm7F0I27', 'Lagoon92!', 'xq7-wz'],
    no: [
      'production',
      'project_1',
      '8080:80',
      '127.0.0.1:80',
      '$PASSWORD',
      '--stdin',
      'dir/b2',
      '5432',
      'a=b7',
    ],
  },
  passphrase: {
    yes: [
      'quill juniper delta falcon',
      'onyx-maple-quill-topaz',
      'topaz falcon 77',
      'Maple amber, drift! 65',
    ],
    no: [
      'enter the passphrase here',
      'quill juniper delta',
      'correct horse battery staple',
      'one two',
      'a b c d',
    ],
  },
  'random-groups': {
    yes: ['woev gkbe xcsw pogn', 'qkvx-jzqw-xkcd-vbnm'],
    no: ['this will fail soon', 'abcd-efgh-ijkl-mnop', 'xxxx xxxx xxxx xxxx'],
  },
  'has-digit': { yes: ['8246 5555'], no: ['save them'] },
  'bitlocker-key': {
    yes: ['011000-022011-033022-044033-055044-066055-077066-088077'],
    no: [
      '011000-022011-033022-044033-055044-066055-077066-088078',
      '720896-022011-033022-044033-055044-066055-077066-088077',
    ],
  },
  'email-domain': {
    yes: ['a@b.com', 'a@b.co.uk', 'a@B.CH', 'u@mail.corp', utf8('jürgen@köln.de'), utf8('иван@почта.рф')],
    no: ['logo@2x.png', 'icon@3x.WEBP', 'a@b.cH', 'a@b.xq', 'a@\xde0.ch'],
  },
};

for (const [name, { yes, no }] of Object.entries(table)) {
  t.test(`${name} tells the valid from the invalid`, (t) => {
    const check = checks[name as CheckName];
    yes.forEach((text, index) => {
      t.ok(check(text), `valid ${index + 1}`);
    });
    no.forEach((text, index) => {
      t.notOk(check(text), `invalid ${index + 1}`);
    });
    t.end();
  });
}

t.test('measures entropy in bits for each character', (t) => {
  t.equal(entropyBits('aaaa'), 0);
  t.equal(entropyBits('abab'), 1);
  t.equal(entropyBits('abcdefgh'), 3);
  t.end();
});

t.test('knows what stands for a secret from what is one', (t) => {
  const stands = [
    'changeme',
    'your-api-key',
    `$${'{DB_PASSWORD}'}`,
    '{{ secret }}',
    '<token>',
    '$TOKEN',
    'xxxxxxxxxxxx',
    '********',
    'process.env.KEY',
    'secrets.KEY',
    'ababababab',
    'key1234567890',
  ];
  const is = ['hunter2', 'Tr0ub4dor&3', 'q8Zk2LmN4pR7sT9v', '$ecret1!x'.slice(1)];
  for (const text of stands) t.ok(isPlaceholder(text, 0), text);
  for (const text of is) t.notOk(isPlaceholder(text, 0), text);
  t.end();
});

t.test('a token may begin behind a sign or an escape, not inside a word', (t) => {
  const cases = [
    { before: '', may: true },
    { before: '"', may: true },
    { before: '-', may: true },
    { before: 'a', may: false },
    { before: '7', may: false },
    { before: '_', may: true },
    { before: '\\n', may: true },
    { before: '\\q', may: false },
    { before: '%3D', may: true },
    { before: 'x3D', may: false },
    { before: '\\u003d', may: true },
    { before: 'u003d', may: false },
  ];
  for (const { before, may } of cases)
    t.equal(mayStartToken(Buffer.from(`${before}tok`), before.length), may, before);
  t.end();
});
