import t from 'tap';
import { isIdentifier, isPlainValue } from '../../../src/inspect/checks/plain-values.ts';

const plain = [
  'arg[0].len',
  's[i]->passwd',
  'options?.password',
  'config?.auth?.token',
  'js/commit/03d8ba7ca5c485979788d6f121199e4370622491',
  'acme/auth-js/commit/03d8ba7',
  'anthropic.claude-3-haiku-20240307-v1:0',
  'us.meta.llama3-1-70b-instruct-v1:0',
  'my-project-45e35d85a593.json',
  'service_account.pem',
  '@BeforeEach',
  '0x52e',
  '/$file_pwd',
  '1.6.2.RELEASE',
  'v2.0.1-SNAPSHOT',
  '@user.password',
  '5.days',
  'pwd+salt',
  'passwordFields[0].Descriptor',
  'descriptor.Validators[0].',
  '[]*schema.Column',
  '*corev1.Secret',
  'InitVar[str]',
  'pbkdf2:sha256',
  'eyJhbGciOiJI...M3A90LCkxxtX9oNP9KZO',
  '{AQAAABAAAAAQDLU71Ml5bSFBaO2Ab9X5/sS8X7Y=}',
  '**highly**',
  '*present*.',
  '*.pkpass',
  'gdb.base/align-c++.exp:',
  '--with-password=',
  'ECDH-ES+A128KW',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'JlKBx9za9667qe4(...)xHSwRv6J',
  'Digest::MD5.hexdigest',
  '\\fIgzip\\fP(1)',
  '::1a:2b:3c:4d',
  Buffer.from('{"alg":"RS256","typ":"JWT"}').toString('base64url'),
];
/** Each is like one of them, and may be a secret. */
const notPlain = [
  'arg[0]9drTJvcXLB',
  '9drT?.JvcXLB',
  '03d8ba7ca5c485979788d6f121199e4370622491',
  'commit/9drTJvcXLB89qLB8923FB892xMFI',
  'q8Zk2LmN4pR7sT9v-v1:0',
  'q8zk2lmn4pr7st9v.json',
  '03d8ba7ca5c485979788d6f121199e4370622491.json',
  'q8Zk2.RELEASE',
  '@Kathmandu',
  '0xDEADBEEF',
  '/$Kx83fjQ29z!',
  'dragon-3f9a1c0b7e2dkey',
  'prodqzxkwv-3f9a1c0b7e2d.key',
  'Kx9a[2].Qwerty',
  'Summer?.Autumn',
  'commit/f435365875e533b8930b2a91',
  '@9drTJvcXLB',
  '0x9d4c7b1e2f60',
  '@sunflower',
  '5.daysOfSun',
  'sun+moon7',
  'correct+horse+battery',
  'Summer[1].Autumn',
  'passw0rd[0].Kx9a',
  '**Kx9a7**',
  '*.Kx9a7Q',
  '*q8Zk2.LmN4pR7',
  'q8Zk2/LmN4pR7.sT9',
  '--Kx9a7Q2m',
  'A128KW-q8Zk2LmN4p',
  'q8Zk2LmN4pR7...sT9vW',
  Buffer.from('{"user":"jd","id":17}').toString('base64url'),
];

t.test('tells values of other kinds from what may be a secret', async (t) => {
  for (const value of plain) t.ok(isPlainValue(value), value);
  for (const value of notPlain) t.notOk(isPlainValue(value), value);
});

t.test('tells names of code, with numbers only where terms have them', async (t) => {
  for (const name of [
    'libtest_arg4',
    'BcryptPassword4jPasswordEncoder',
    'OAuth2ConfigurerUtils.getOptionalBean',
  ])
    t.ok(isIdentifier(name), name);
  for (const value of [
    'Xk4jqzvt9',
    'rwpeyyet4j',
    'libtest_arg4q8Zk',
    'Q8zkUtils.getOptionalBean',
    'qzJvkwq.pxLmNoPq',
  ])
    t.notOk(isIdentifier(value), value);
});
