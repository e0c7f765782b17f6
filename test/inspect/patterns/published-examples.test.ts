import { createECDH } from 'node:crypto';
import t from 'tap';
import { engine } from '../../support/detectors.ts';

/* What documentation prints for everybody to read counts only for who wants that. */

const tuning = { off: new Set<string>(), confidence: new Map(), allowSha256: new Set<string>() };
const counting = engine.tuned({ ...tuning, publishedExamples: 'count' });
const limits = { matchesMax: 100, isOver: () => false };
const classesIn = (text: string, by: typeof engine): readonly string[] => [
  ...new Set(
    by
      .find(Buffer.from(text), limits)
      .matches.filter(({ confidence }) => confidence !== 'low')
      .map(({ detector }) => detector.class),
  ),
];
const inBase64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const ofJwtIo = [
  inBase64({ alg: 'HS256', typ: 'JWT' }),
  inBase64({ sub: '1234567890', name: 'John Doe', iat: 1516239022 }),
  'SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c',
].join('.');

const examples = {
  'a token of RFC 6749': '"access_token":"2YotnFZFEjr1zCsicMWpAA"',
  'a token of jwt.io': `Authorization: Bearer ${ofJwtIo}`,
  'a password of jokes': 'password = "hunter2"',
  'a password that says what it is': 'password: P4ssword123',
  'a key of AWS': 'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  'a token of RFC 5849': 'OAuth oauth_token="ad180jjd733klru7"',
  'a password of jokes in a URL': 'https://john:P%40SSWORD@db.acme.dev/',
  'credentials that say what they are': 'Authorization: Basic dXNlcm5hbWU6cGFzc3dvcmQ=',
  'the id of a key that its manual has marked': 'AWS_ACCESS_KEY_ID=ASIAJEXAMPLEXEG2JICEA',
  'a key that its manual has marked': '"SecretAccessKey": "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"',
  'a token of which both ends are shown': '"sessionToken": "AgoGb3J...8fQ=="',
  'a key of which the first line is shown':
    '-----BEGIN RSA PRIVATE KEY-----MIIEpQIBAAKCAQEAuyf/lNrH9ck8DmNyo3fGgvCI1l9s+cmBY3WIz+cUDqmxiieR.-----END RSA PRIVATE KEY-----',
  'a key in the order of the alphabet': 'api_key = "abcd1234efghijklMNOPQRST5678"',
  'a password without its accents': 'http://jo:p%C3%A4ssword@db.acme.dev/',
  'a German password in a URL': 'http://Benutzer:Passwort@db.acme.dev/',
  'a token that nobody has signed': `token=${inBase64({ alg: 'none', typ: 'JWT' })}.${inBase64({ uid: 'x', exp: 1516239022 })}.`,
  'a sentence in base64': "password: 'bm90IG15IHJlYWwgcGFzc3dvcmQ='",
  'words for a token': 'OAuth2AccessTokenResponse.withToken("access-token-1234")',
  'names of variables in base64': 'Authorization: Basic Q0xJRU5UX0lEOkNMSUVOVF9TRUNSRVQ=',
  'short credentials that say what they are': 'Authorization: Basic YmFyOmZvbw==',
  'a password of tests': "{ username: 'testuser', password: 'Test1234!' }",
  'a password of manuals': 'admin_password = "P@ssw0rd1234!"',
  'credentials of RFC 7617 in a form': 'Authorization%3A+Basic+QWxhZGRpbjpvcGVuIHNlc2FtZQ%3D%3D',
  'a public token of Mapbox':
    "accessToken = 'pk.eyJ1IjoiZXhhbXBsZXMiLCJhIjoiY2p0MG01MXRqMW4ifQ.zA2W0IkI0c6KaAhJfk9bWg'",
  'a public key of a browser': `"applicationServerKey": "${createECDH('prime256v1').generateKeys('base64url')}"`,
  'a value of SealedSecret': `password: AgB${'x7K+q/2Lw'.repeat(80)}=`,
  'a test card': 'card 4242 4242 4242 4242',
  'an address of RFC 2606': 'write to jane.roe@example.com',
};

for (const [name, text] of Object.entries(examples))
  t.test(`${name} is no finding by default`, async (t) => {
    t.strictSame(classesIn(text, engine), []);
    t.equal(classesIn(text, counting).length, 1, 'and counts where it is to count');
  });

t.test('what only looks like an example counts', async (t) => {
  for (const text of [
    'password = "hunter2Kx!93"',
    'password: P4ssword123-for-Mq7',
    'password: Passwort2024!',
    'password: SecurePassword1234!',
    'postgres://app:river-token-battery-horse@db.acme.dev/x',
    'password=changeit&otp=9fKq27ZbLw83nXcVt51RyPd0Kq27',
    `token: ${inBase64({ alg: 'none-but-HS256' })}.${inBase64({ sub: 'bob' })}`,
    'password=9drTJvcXLB89qLB&scope=read',
    'http://test:9drTJvcXLB89;auth=NTLM@db.acme.dev/',
    'credential=OWRyVEp2Y1hMQjg5cUxC',
    `credential=${Buffer.from('secret\n9drTJvcXLB89qLB').toString('base64')}`,
    `token=${inBase64({ alg: 'none' })}.${inBase64({ uid: 'x' })}.9drTJvcXLB89qLB8923FB892xMFI`,
    'api_key = "CLIENT_SECRET_9DRTJVCXLB89QLB"',
    'password: "*basil4545kQ"',
    'password: "*a9drTJvcXLB89qLB892"',
    'password: "vec![9drTJvcXLB89qLB892"',
    'password: "9drTJvcXLEXAMPLEB89qLB"',
    'password: "9drTJvcXL...B89qLB"',
    'password: "abcdefgh9drTJv"',
    '"apiKey": "arn:aws:iam:9drTJvcXLB89qLB892xMFI"',
    'api_key = "9drTJvcXLB89qLB8923FB892xMFIEXAMPLE"',
    'api_key = "9drTJvcXLB89qLB8923FB892xMFIabcdefghijklmnopqrstuvwxyz"',
    'api_key = "abcd...9drTJvcXLB89qLB8923FB892xMFI"',
    `-----BEGIN PRIVATE KEY-----\\n...\\n${'k3Vw9dQz7LmXp2RtAbCdEf8sYhNq4Jg5Pu6W'.repeat(8)}\\n-----END PRIVATE KEY-----`,
    'api_key = "k3Vw9dQz7LmXp2RtAbCdEf8sYhNq4Jg5"',
    `the session token is ${'9drTJvcXLB89qLB8923FB892xMFI7wZk'}...`,
    'card 4539 1488 0343 6467',
  ])
    t.equal(classesIn(text, engine).length, 1, text);
});
