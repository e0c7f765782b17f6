import t from 'tap';
import { addressesOf, messageRecipients } from '../../src/catalogue/addresses.ts';

const lists = [
  { text: 'ann@acme.com', are: ['ann@acme.com'] },
  {
    text: 'ann@acme.com, bob@acme.com; eve@example.net',
    are: ['ann@acme.com', 'bob@acme.com', 'eve@example.net'],
  },
  { text: '"Doe, Ann" <ann@acme.com>, Bob <bob@acme.com>', are: ['ann@acme.com', 'bob@acme.com'] },
  { text: 'Ann (sales, EMEA) <ann@acme.com>', are: ['ann@acme.com'] },
  { text: '"a \\" b, c" <ann@acme.com>', are: ['ann@acme.com'] },
  { text: 'team: ann@acme.com, bob@acme.com;', are: ['ann@acme.com', 'bob@acme.com'] },
  { text: '"ann@acme.com" <eve@example.net>', are: ['eve@example.net'] },
  { text: '"never closed <ann@acme.com>, eve@example.net', are: ['ann@acme.com', 'eve@example.net'] },
  { text: 'x (never closed, eve@example.net', are: ['x', 'never closed', 'eve@example.net'] },
  { text: 'eve@example.net (Eve)', are: ['eve@example.net'] },
  { text: 'eve @ (hi) example . net', are: ['eve@example.net'] },
  { text: 'eve@example.net (<ann@acme.com>)', are: ['eve@example.net'] },
  { text: '<eve@example.net> <ann@acme.com>', are: ['eve@example.net', 'ann@acme.com'] },
  { text: 'eve@example.net (x@acme.com', are: ['eve@example.net', 'x@acme.com'] },
  { text: 'forward("eve@example.net")', are: ['forward("eve@example.net")'] },
  { text: 'The Crowd (all), (ours)', are: ['The Crowd (all)', '(ours)'] },
  { text: 'U123, U456', are: ['U123', 'U456'] },
  { text: 'arn:aws:iam::123456789012:root', are: ['arn:aws:iam::123456789012:root'] },
  { text: ' , ;', are: [] },
];

t.test('a crowd does not hide a stranger, nor does a flood of signs', async (t) => {
  for (const text of [
    `${'('.repeat(250_000)}, eve@example.net`,
    `${'ann@acme.com,'.repeat(2500)}eve@example.net`,
  ])
    t.equal(addressesOf(text).at(-1), '*');
});

for (const { text, are } of lists) {
  t.test(`finds ${are.length} in ${text}`, async (t) => t.strictSame(addressesOf(text), are));
}

const message = [
  'From: Ann <ann@acme.com>',
  'To: "Doe, Bob" <bob@acme.com>,',
  '\tEve <eve@example.net>',
  'Cc: carl@acme.com',
  'BCC : dora@example.org',
  'Resent-To: emil@example.com',
  'Reply-To: nobody@acme.com',
  'Subject: To: frank@example.com',
  '',
  'To: gina@example.com',
].join('\r\n');
const recipients = [
  'bob@acme.com',
  'eve@example.net',
  'carl@acme.com',
  'dora@example.org',
  'emil@example.com',
];

t.test('reads the recipients of a message from its head alone', async (t) => {
  t.strictSame(messageRecipients(message), recipients);
  t.strictSame(messageRecipients(message.replaceAll('\r', '')), recipients);
});

t.test('reads a message in base64, base64url and wrapped base64', async (t) => {
  const bytes = Buffer.from(message);
  t.strictSame(messageRecipients(bytes.toString('base64')), recipients);
  t.strictSame(messageRecipients(bytes.toString('base64url')), recipients);
  t.strictSame(messageRecipients(bytes.toString('base64').replace(/.{64}/g, '$&\r\n')), recipients);
});

t.test('a message without a head may address anybody', async (t) => {
  t.strictSame(messageRecipients('no head at all!'), ['*']);
  t.strictSame(messageRecipients(Buffer.from('no head at all!').toString('base64')), ['*']);
});

t.test('a head of any length takes bounded work', async (t) => {
  const long = `To: ann@acme.com\r\n${'X: y\r\n'.repeat(200_000)}To: eve@example.net\r\n\r\n`;
  t.strictSame(messageRecipients(long), ['ann@acme.com', '*'], 'what stands beyond 64 KB may be a recipient');
});
