import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createScrub } from '../../src/upstream/scrub.ts';

const label = '[REDACTED:credential]';
/** With characters that each kind of escaping touches. */
const secret = `tok/${randomBytes(6).toString('hex')}+"&<%\\=${randomBytes(6).toString('hex')}`;

const percentAll = (text: string): string =>
  text.replace(/[\s\S]/g, (it) => `%${it.charCodeAt(0).toString(16).padStart(2, '0')}`);
const unicodeAll = (text: string): string =>
  text.replace(/[\s\S]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The whole answer, sent in chunks of `size` bytes. */
function scrubbed(text: string | Buffer, secrets: readonly string[], size: number, hasLines = true): string {
  const body = createScrub(secrets).body(hasLines);
  const bytes = Buffer.from(text);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size)
    out.push(Buffer.from(body.push(bytes.subarray(at, at + size))));
  return Buffer.concat([...out, body.end()]).toString();
}

const forms: Record<string, string> = {
  plain: secret,
  JSON: JSON.stringify(secret).slice(1, -1),
  'JSON in JSON': JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  'JSON with slashes escaped': JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
  'JSON with every character escaped': unicodeAll(secret),
  percent: encodeURIComponent(secret),
  'percent in lower case': encodeURIComponent(secret).replace(/%../g, (it) => it.toLowerCase()),
  'percent of every character': percentAll(secret),
  'percent twice': encodeURIComponent(encodeURIComponent(secret)),
  HTML: secret.replace(/[&<"]/g, (it) => ({ '&': '&amp;', '<': '&lt;', '"': '&quot;' })[it] ?? it),
  'HTML by numbers': secret.replace(/[&<"]/g, (it) => `&#${it.charCodeAt(0)};`),
  'HTML by hex numbers': secret.replace(/[&<"]/g, (it) => `&#x${it.charCodeAt(0).toString(16)};`),
  hex: Buffer.from(secret).toString('hex'),
  'hex in capitals': Buffer.from(secret).toString('hex').toUpperCase(),
  'hex with colons': Buffer.from(secret)
    .toString('hex')
    .replace(/..(?=.)/g, '$&:'),
};

for (const [name, form] of Object.entries(forms)) {
  t.test(`takes out a secret in this form, however the answer is cut: ${name}`, async (t) => {
    for (const size of [1, 2, 3, 7, 10_000])
      t.equal(
        scrubbed(`{"a":"${form}","b":1}`, [secret], size),
        `{"a":"${label}","b":1}`,
        `chunks of ${size}`,
      );
  });
}

t.test('takes out a secret inside a longer text in base64, wherever it begins', async (t) => {
  for (const encoding of ['base64', 'base64url'] as const) {
    for (const before of ['', 'a', 'ab', 'user:']) {
      const encoded = Buffer.from(`${before}${secret}`).toString(encoding);
      for (const size of [1, 5, 10_000]) {
        const answer = scrubbed(`<${encoded}>`, [secret], size);
        t.match(answer, label, `${encoding} behind "${before}"`);
        t.notMatch(Buffer.from(answer, 'base64').toString('latin1'), secret.slice(4, 20));
      }
    }
  }
  const lines = Buffer.from(`a text that is long enough: ${secret}`)
    .toString('base64')
    .replace(/.{20}/g, '$&\r\n');
  t.match(scrubbed(lines, [secret], 4), label, 'also where it is broken into lines');
});

t.test('takes out a secret in UTF-16, several in a row, and the longer of two', async (t) => {
  t.match(scrubbed(Buffer.from(`x${secret}x`, 'utf16le'), [secret], 3), label);
  t.equal(scrubbed(`${secret}${secret} ${secret}`, [secret], 5), `${label}${label} ${label}`);
  t.equal(scrubbed(`<Token ${secret}>`, [secret, `Token ${secret}`], 5), `<${label}>`);
});

t.test('leaves everything else as it is, byte for byte', async (t) => {
  const noise = randomBytes(50_000);
  const body = createScrub([secret]).body(true);
  const out: Buffer[] = [];
  for (let at = 0; at < noise.length; at += 777)
    out.push(Buffer.from(body.push(noise.subarray(at, at + 777))));
  t.ok(Buffer.concat([...out, body.end()]).equals(noise));
  const almost = `${secret.slice(0, -1)} %2 \\u00 &amp &#12345678901234567890; %25%25%252 \\\\\\\\`;
  for (const size of [1, 4, 1000]) t.equal(scrubbed(almost, [secret], size), almost);
  t.equal(
    scrubbed('the cat sat', ['cat'], 4),
    'the cat sat',
    'a secret of three letters is looked for nowhere',
  );
});

t.test('holds back no more than what may become a secret', async (t) => {
  const body = createScrub([secret]).body(false);
  t.equal(body.push(Buffer.from('data: {"delta":"Hello"}\n\n')).toString(), 'data: {"delta":"Hello"}\n\n');
  t.equal(body.push(Buffer.from(`data: ${secret.slice(0, 9)}`)).toString(), 'data: ', 'a beginning waits');
  t.equal(
    body.push(Buffer.from(' no\n\n')).toString(),
    `${secret.slice(0, 9)} no\n\n`,
    'and goes when it is none',
  );
  const first = secret.slice(0, 1);
  t.equal(
    body.push(Buffer.from(`data: ${first}\n\n`)).toString(),
    `data: ${first}\n\n`,
    'an event does not wait for the next',
  );
});

t.test('waits for no escape without end', async (t) => {
  const body = createScrub([secret]).body(true);
  let sent = 0;
  const hostile = Buffer.from(
    `${'\\'.repeat(5000)}${'%25'.repeat(5000)}${'&#0'.repeat(5000)}t${'\0'.repeat(5000)}`,
  );
  for (let at = 0; at < hostile.length; at += 100) {
    sent += body.push(hostile.subarray(at, at + 100)).length;
    t.ok(at + 100 - sent < secret.length * 20 + 100, 'what is held is bounded') || t.bailout('');
  }
  t.equal(sent + body.end().length, hostile.length);
});

t.test('redacts values of fields, and leaves out a field that has it in its name', async (t) => {
  const token = randomBytes(18).toString('hex');
  const echo = Buffer.from(token).toString('base64');
  const { fields } = createScrub([token]);
  t.same(
    fields(['Location', `https://x.test/?t=${token}&a=1`, `X-${token}`, 'v', 'X-Echo', echo, 'A', 'b']),
    [...['Location', `https://x.test/?t=${label}&a=1`], ...['X-Echo', label], ...['A', 'b']],
  );
});
