import { randomBytes } from 'node:crypto';
import t from 'tap';
import { makeScrub } from '../../../../src/wire/client/scrub/scrub.ts';
import { takeSteps } from '../../../support/steps.ts';

const label = '[REDACTED:credential]';
/** With characters that each kind of escaping touches. */
const secret = `tok/${randomBytes(6).toString('hex')}+"&<%\\=${randomBytes(6).toString('hex')}`;

const percentAll = (text: string): string =>
  text.replace(/[\s\S]/g, (it) => `%${it.charCodeAt(0).toString(16).padStart(2, '0')}`);
const unicodeAll = (text: string): string =>
  text.replace(/[\s\S]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`);
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const html = (text: string): string =>
  text.replace(/[&<"]/g, (it) => ({ '&': '&amp;', '<': '&lt;', '"': '&quot;' })[it] ?? it);
const lines = (text: string, lineBreak: string): string => text.replace(/.{20}/g, `$&${lineBreak}`);

/** What is sent for each chunk of an answer that is cut into pieces of `size` bytes, and for its end. */
function pieces(text: string | Buffer, secrets: readonly string[], size: number, isByLine = false): Buffer[] {
  const body = takeSteps(makeScrub(secrets)).result.body(isByLine);
  const bytes = Buffer.from(text);
  const sent: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size)
    sent.push(Buffer.from(body.push(bytes.subarray(at, at + size))));
  return [...sent, Buffer.from(body.end())];
}

const scrubbed = (...args: Parameters<typeof pieces>): string => Buffer.concat(pieces(...args)).toString();

const forms: Record<string, string> = {
  plain: secret,
  JSON: json(secret),
  'JSON in JSON': json(json(secret)),
  'JSON in JSON in JSON': json(json(json(secret))),
  'JSON with slashes escaped': json(secret).replaceAll('/', '\\/'),
  'JSON with every character escaped': unicodeAll(secret),
  'that in JSON again': json(unicodeAll(secret)),
  percent: encodeURIComponent(secret),
  'percent in lower case': encodeURIComponent(secret).replace(/%../g, (it) => it.toLowerCase()),
  'percent of every character': percentAll(secret),
  'percent twice': encodeURIComponent(encodeURIComponent(secret)),
  'percent in JSON': json(encodeURIComponent(secret)),
  HTML: html(secret),
  'HTML twice': html(html(secret)),
  'HTML in percent': encodeURIComponent(html(secret)).replaceAll('%3B', ';'),
  'HTML in JSON that spares no ampersand': json(html(secret)).replaceAll('&', '\\u0026'),
  'HTML by numbers': secret.replace(/[&<"]/g, (it) => `&#${it.charCodeAt(0)};`),
  'HTML by numbers with zeros': secret.replace(/[&<"]/g, (it) => `&#00${it.charCodeAt(0)};`),
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
      for (const isByLine of [false, true]) {
        const answer = scrubbed(`{"a":"${form}","b":1}`, [secret], size, isByLine);
        t.equal(answer, `{"a":"${label}","b":1}`, `chunks of ${size}${isByLine ? ', line by line' : ''}`);
      }
  });
}

t.test('takes out a secret inside a longer text in base64, wherever it begins', async (t) => {
  for (const encoding of ['base64', 'base64url'] as const) {
    for (const before of ['', 'a', 'ab', 'user:']) {
      for (const [name, text] of Object.entries({ plain: secret, percent: encodeURIComponent(secret) })) {
        const encoded = Buffer.from(`${before}${text}`).toString(encoding);
        for (const size of [1, 5, 10_000]) {
          const answer = scrubbed(`<${encoded}>`, [secret], size);
          t.match(answer, label, `${name} in ${encoding} behind "${before}"`);
          t.notMatch(Buffer.from(answer, 'base64').toString('latin1'), secret.slice(4, 20));
        }
      }
    }
  }
});

t.test('takes out base64 that is broken into lines', async (t) => {
  for (const before of ['', 'a', 'ab', 'a text that is long enough: ']) {
    const encoded = Buffer.from(`${before}${secret}`).toString('base64');
    for (const lineBreak of ['\n', '\r\n', '\n    ', '\\n', '\\r\\n', '\\\\n', '&#10;', '%0A'])
      t.match(scrubbed(lines(encoded, lineBreak), [secret], 4), label, JSON.stringify(lineBreak));
    t.match(scrubbed(`data: ${lines(encoded, '\\n')}\n\n`, [secret], 4, true), label, 'in JSON in a line');
  }
});

t.test('takes out a secret with spaces or characters beyond ASCII', async (t) => {
  const spaced = `correct horse ${randomBytes(4).toString('hex')}`;
  for (const form of [spaced, spaced.replaceAll(' ', '+'), encodeURIComponent(spaced)])
    t.equal(scrubbed(`pw=${form}&a=1`, [spaced], 5), `pw=${label}&a=1`, form.length.toString());
  const foreign = `pässwört-${randomBytes(6).toString('hex')}`;
  const asUtf8: Record<string, string> = {
    plain: foreign,
    percent: encodeURIComponent(foreign),
    'percent of Latin-1': foreign.replaceAll('ä', '%E4').replaceAll('ö', '%F6'),
    'JSON in ASCII': foreign.replaceAll('ä', '\\u00e4').replaceAll('ö', '\\u00f6'),
    hex: Buffer.from(foreign).toString('hex'),
    'hex of Latin-1': Buffer.from(foreign, 'latin1').toString('hex'),
  };
  for (const [name, form] of Object.entries(asUtf8))
    t.equal(scrubbed(`<${form}>`, [foreign], 3), `<${label}>`, name);
  t.equal(scrubbed(Buffer.from(`<${foreign}>`, 'latin1'), [foreign], 3), `<${label}>`, 'Latin-1');
  t.match(scrubbed(Buffer.from(foreign).toString('base64'), [foreign], 3), label);
  const half = `${randomBytes(8).toString('hex')}\ud800`;
  t.match(scrubbed(half, [half], 3), label, 'half of a surrogate pair ends nothing');
});

t.test('takes out a secret that looks escaped itself, or that ends like an escape', async (t) => {
  const random = randomBytes(6).toString('hex');
  for (const odd of [`a%41${random}`, `a\\u0041${random}`, `a&amp;${random}`, `dom\\${random}`]) {
    for (const form of [odd, json(odd), html(odd), encodeURIComponent(odd)])
      t.equal(scrubbed(`<${form}>`, [odd], 4), `<${label}>`, form.replace(random, '…'));
  }
  t.match(scrubbed(json(`${random}\\`), [`${random}\\`], 4), label);
  t.equal(scrubbed(`"%${random}"`, [random], 4), `"%${label}"`, 'an escape that would begin before it');
});

t.test('takes out a secret in UTF-16, several in a row, and the longer of two', async (t) => {
  for (const form of [secret, json(secret)])
    t.match(scrubbed(Buffer.from(`x${form}x`, 'utf16le'), [secret], 3), label, 'UTF-16');
  t.equal(scrubbed(`${secret}${secret} ${secret}`, [secret], 5), `${label}${label} ${label}`);
  for (const size of [1, 5, 9, 1000]) {
    t.equal(scrubbed(`<Token ${secret}>`, [secret, `Token ${secret}`], size), `<${label}>`, 'as an ending');
    t.equal(scrubbed(`<acme-${secret}>`, ['acme-', `acme-${secret}`], size), `<${label}>`, 'as a beginning');
  }
  const [left, right] = [`${secret}12345678`, `12345678${secret}`];
  t.equal(scrubbed(`<${left}${secret}>`, [left, right], 7), `<${label}>`, 'two that overlap');
});

t.test('compares the whole of a secret, however long it is', async (t) => {
  const long = randomBytes(2000).toString('base64url');
  for (const form of [long, Buffer.from(long).toString('hex'), percentAll(long)])
    t.equal(scrubbed(`<${form}>`, [long], 1000), `<${label}>`);
  const almost = `<${long.slice(0, -1)}!>`;
  t.equal(scrubbed(almost, [long], 1000), almost);
});

t.test('leaves everything else as it is, byte for byte', async (t) => {
  const noise = randomBytes(50_000);
  for (const isByLine of [false, true])
    t.ok(Buffer.concat(pieces(noise, [secret], 777, isByLine)).equals(noise));
  const almost = `${secret.slice(0, -1)} %2 \\u00 &amp &#12345678901234567890; %25%25%252 \\\\\\\\`;
  for (const size of [1, 4, 1000]) t.equal(scrubbed(almost, [secret], size), almost);
  const short = 'a secret of three letters is looked for nowhere: the cat sat';
  t.equal(scrubbed(short, ['cat'], 4), short);
  t.equal(scrubbed(short, [], 4), short);
});

t.test('sends the same sizes whatever stands in a body, so that no guess is answered', async (t) => {
  const guesses = [secret, percentAll(secret), unicodeAll(secret), Buffer.from(secret).toString('base64')];
  const sizes = (text: string, isByLine: boolean) =>
    pieces(text, [secret, `Bearer ${secret}`], 64, isByLine).map((it) => it.length);
  for (const isByLine of [false, true]) {
    for (const guess of guesses) {
      for (const right of [1, 5, guess.length - 12]) {
        const text = `${guess.slice(0, right)}!`.padStart(64, '.').repeat(20);
        const other = text.replace(/[^\n]/g, '.');
        t.same(sizes(text, isByLine), sizes(other, isByLine), `${right} characters are right`);
        t.same(sizes(`Bearer ${text}`, isByLine), sizes(`.......${other}`, isByLine));
      }
    }
  }
});

t.test('line by line, holds back nothing of a line that is over', async (t) => {
  const body = takeSteps(makeScrub([secret])).result.body(true);
  const sent = (text: string): string => body.push(Buffer.from(text)).toString();
  t.equal(sent('data: {"delta":"Hello"}\n\n'), 'data: {"delta":"Hello"}\n\n');
  t.equal(sent(`data: ${secret.slice(0, 9)}`), '', 'a line that is not over waits');
  t.equal(sent(`${secret.slice(9)}\n\nda`), `data: ${label}\n\n`);
  t.equal(
    sent(`ta: ${secret.slice(0, 1)}\\\n`),
    `data: ${secret.slice(0, 1)}\\\n`,
    'no escape goes over its end',
  );
  t.equal(sent('x'.repeat(100_000)).length + body.end().length, 100_000);
  const broken = lines(Buffer.from(`a text that is long enough: ${secret}`).toString('base64'), '\n');
  t.equal(scrubbed(broken, [secret], 9, true), broken, 'nor does base64 in lines: each is sent as it ends');
});

t.test('holds back a bounded number of bytes', async (t) => {
  const hostile = Buffer.from(
    ['\\', '%25', '&#0', '&amp;', '\0', `${secret.slice(0, -1)}`, ' '].map((it) => it.repeat(5000)).join('t'),
  );
  for (const isByLine of [false, true]) {
    const body = takeSteps(makeScrub([secret])).result.body(isByLine);
    let sent = 0;
    for (let at = 0; at < hostile.length; at += 100) {
      const chunk = hostile.subarray(at, at + 100);
      sent += body.push(chunk).length;
      if (at + chunk.length - sent >= secret.length * 16 + 100) return t.fail('what is held is bounded');
    }
    t.equal(sent + body.end().length, hostile.length);
  }
});

t.test('redacts values of fields, and leaves out a field that has it in its name', async (t) => {
  const token = randomBytes(18).toString('hex');
  const echo = Buffer.from(token).toString('base64');
  const { fields } = takeSteps(makeScrub([token])).result;
  t.same(
    fields(['Location', `https://x.test/?t=${token}&a=1`, `X-${token}`, 'v', 'X-Echo', echo, 'A', 'b\xe4']),
    [...['Location', `https://x.test/?t=${label}&a=1`], ...['X-Echo', label], ...['A', 'b\xe4']],
  );
});

t.test('is made ready in more steps, not in longer ones, where there are more secrets', async (t) => {
  /** Of each token, the characters of its forms that the search goes by: as text, in hex, and in base64 from three places. */
  const searched = 5 * 256;
  const tokens = Array.from({ length: 16 }, () => randomBytes(1125).toString('base64url'));
  for (const count of [1, 2, 16]) {
    const made = takeSteps(makeScrub(tokens.slice(0, count)));
    t.ok(made.count >= count * searched, `${count} tokens take ${made.count} steps`);
    t.same(made.result.fields(['X-Echo', tokens[count - 1] as string]), ['X-Echo', label]);
  }
});
