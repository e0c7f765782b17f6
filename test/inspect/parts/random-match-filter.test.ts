import t from 'tap';
import { bodyPart, readPart } from '../../../src/inspect/read-part.ts';
import { engine } from '../../support/detectors.ts';
import { createNoise } from '../../support/noise.ts';
import { expandSample } from '../../support/samples.ts';

/*
 * Pictures are as good as random, and agents send many. What patterns meet in them by chance is no finding; what somebody has put there is.
 */

const bounds = { maxDecodedBytes: 1 << 24, isOver: () => false };
const pngHead = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
const noise = createNoise(41);
const pictureOf = (size: number): Buffer => Buffer.concat([pngHead, noise(size)]);

function kindsIn(body: Buffer | string, contentType = 'application/json'): readonly string[] {
  const { findings, unreadable } = readPart(
    bodyPart(Buffer.from(body), contentType, 'api.example'),
    engine,
    bounds,
  );
  if (unreadable !== undefined) throw new Error(unreadable);
  return [...new Set(findings.filter(({ confidence }) => confidence !== 'low').map(({ kind }) => kind))];
}

/** Puts a piece into the middle of a text or of bytes, in place of as much of them. */
function withPiece(whole: Buffer, piece: string): Buffer {
  const bytes = Buffer.from(whole);
  bytes.write(piece, whole.length >> 1, 'latin1');
  return bytes;
}

const inJson = (value: string): string => JSON.stringify({ image: value });
const lines = (text: string): string => text.replace(/.{76}/g, '$&\n');
const bytesOf = 300_000;

/** What a pattern takes for something in one of a hundred pictures, more or less. */
const accidents = {
  base64: ['EAA{alnum:160}', '4AdBC+1HGCM82633A004352+xV'],
  base64url: ['fw_{alnum:24}', 'NF-{alnum:36}', 'r8_{alnum:37}', 'ghs_{alnum:36}'],
};
/** In base64 they do not stand by chance: their prefix is long, or they prove themselves. */
const secrets = ['ghp_{crc:36}', 'AKIA{base32:16}', 'glpat-{alnum:20}', 'sk_live_{alnum:24}'];

t.test('a picture in any form has nothing that patterns meet in it by chance', async (t) => {
  for (let count = 0; count < 8; count += 1) {
    const picture = pictureOf(bytesOf);
    t.same(kindsIn(picture, 'image/png'), [], 'as it is');
    t.same(kindsIn(inJson(picture.toString('base64'))), [], 'base64');
    t.same(kindsIn(inJson(picture.toString('base64url'))), [], 'base64url');
    t.same(kindsIn(inJson(lines(picture.toString('base64')))), [], 'lines of base64 in JSON');
    t.same(kindsIn(lines(picture.toString('base64')), 'text/plain'), [], 'lines of base64');
    t.same(kindsIn(inJson(picture.toString('hex'))), [], 'hex');
  }
});

t.test('what looks like a secret inside of a picture in base64 is none', async (t) => {
  for (const [encoding, samples] of Object.entries(accidents))
    for (const sample of samples) {
      const text = Buffer.from(pictureOf(bytesOf).toString(encoding as BufferEncoding));
      t.same(kindsIn(inJson(withPiece(text, expandSample(sample)).toString('latin1'))), [], sample);
    }
  const wrapped = lines(pictureOf(bytesOf).toString('base64')).split('\n');
  wrapped[200] = wrapped[200]?.replace(/...$/, 'pwd') ?? '';
  t.same(kindsIn(wrapped.join('\n'), 'text/plain'), [], 'lines of base64');
});

t.test('what has a character that nothing around it has is found', async (t) => {
  const text = Buffer.from(pictureOf(bytesOf).toString('base64'));
  t.not(
    kindsIn(inJson(withPiece(text, expandSample('/fw_{alnum:24}/')).toString('latin1'))).length,
    0,
    'base64',
  );
  const digits = Buffer.from(pictureOf(bytesOf).toString('hex'));
  t.not(
    kindsIn(inJson(withPiece(digits, expandSample('/AIza{alnum:35}/')).toString('latin1'))).length,
    0,
    'hex',
  );
});

t.test('what stands between the bytes of a picture in a few characters is none', async (t) => {
  const picture = withPiece(pictureOf(bytesOf), '\x01Y@j.co\x01');
  t.same(kindsIn(picture, 'image/png'), [], 'as it is');
  t.same(kindsIn(inJson(picture.toString('base64'))), [], 'in base64');
});

t.test('a secret that somebody has put into a picture is found', async (t) => {
  for (const secret of secrets) {
    const piece = expandSample(secret);
    const text = withPiece(Buffer.from(pictureOf(bytesOf).toString('base64')), `/${piece}/`).toString(
      'latin1',
    );
    t.not(kindsIn(inJson(text)).length, 0, `${secret} in base64`);
    const picture = withPiece(pictureOf(bytesOf), `\x01${piece}\x01`);
    t.not(kindsIn(picture, 'image/png').length, 0, `${secret} between bytes`);
    t.not(kindsIn(inJson(picture.toString('base64'))).length, 0, `${secret} between bytes in base64`);
  }
});

t.test('what is said in the properties of a picture is found', async (t) => {
  const picture = withPiece(pictureOf(bytesOf), '\0tEXtComment\0Taken by jane.doe@acme-clinic.com\0');
  t.same(kindsIn(picture, 'image/png'), ['email-address'], 'as it is');
  t.same(kindsIn(inJson(picture.toString('base64'))), ['email-address'], 'in base64');
});

t.test('beside a picture, at its ends and in a short value nothing is left out', async (t) => {
  const key = expandSample('fw_{alnum:24}');
  const text = pictureOf(bytesOf).toString('base64');
  t.not(kindsIn(JSON.stringify({ image: text, key })).length, 0, 'beside it');
  t.not(kindsIn(inJson(`${key}+${text}`)).length, 0, 'at its start');
  t.not(
    kindsIn(
      inJson(
        `${pictureOf(bytesOf - 1)
          .toString('base64')
          .replace(/=+$/, '')}/${key}`,
      ),
    ).length,
    0,
    'at its end',
  );
  t.not(kindsIn(inJson(`${noise(900).toString('base64')}/${key}/AAAA`)).length, 0, 'in a short value');
});

t.test(
  'the mappings of a program have no key in them, though their groups could be put together to one',
  async (t) => {
    const key = expandSample('AKIA{base32:15}7');
    const mappings = `ACjD,CAGA,${`GAAI,CAAC,KAAK,IA${key}CV`.replaceAll(',', '').replace(/.{4}/g, '$&,')},EAAI`;
    t.same(kindsIn(JSON.stringify({ version: 3, mappings })), []);
    t.not(
      kindsIn(JSON.stringify({ key: key.replace(/.{4}(?!$)/g, '$&-') })).length,
      0,
      'the key alone is found',
    );
  },
);

const tokensOf = (sample: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, nth) =>
    expandSample(sample).replace(/.{4}$/, nth.toString(36).padStart(4, 'Q')),
  );

t.test('a list of tokens is no picture, nor is one among the lines of a picture', async (t) => {
  for (const sample of ['hf_{letter:34}', 'r8_{alnum:37}', 'AIza{alnum:35}', 'ghp_{alnum:36}']) {
    const tokens = tokensOf(sample, 300);
    const body = Buffer.from(`${tokens.join('\n')}\n`);
    const { findings } = readPart(bodyPart(body, 'text/plain', 'api.example'), engine, bounds);
    t.ok(findings.length >= 290, `${sample}: ${findings.length} of 300`);
    const picture = lines(pictureOf(bytesOf).toString('base64url')).split('\n');
    picture.splice(100, 0, expandSample(sample));
    t.not(kindsIn(picture.join('\n'), 'text/plain').length, 0, `${sample} between lines`);
  }
});

t.test('a list of long tokens in a string is found whole', async (t) => {
  for (const sample of ['EAA{alnum:197}', 'vcp_{alnum:56}', 'sk-{alnum:57}']) {
    const tokens = tokensOf(sample, 120);
    for (const [separator, least] of [
      ['\n', 100],
      ['/', 1],
    ] as const) {
      const body = Buffer.from(JSON.stringify({ tokens: tokens.join(separator) }));
      const { findings } = readPart(bodyPart(body, 'application/json', 'api.example'), engine, bounds);
      t.ok(findings.length >= least, `${sample}: ${findings.length}`);
    }
  }
});

t.test('short texts beside a small picture in one message are found', async (t) => {
  const message = Buffer.concat([
    Buffer.from('\n\x06Ann Bo\x12\x0bjo@acmec.io\x1a\x0b219-09-9998*'),
    Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
    noise(8000),
  ]);
  for (const body of [message, Buffer.from(JSON.stringify({ message: message.toString('base64') }))])
    t.same(kindsIn(body, body === message ? 'application/grpc' : 'application/json').toSorted(), [
      'email-address',
      'us-ssn',
    ]);
});

t.test('pages with room in them are no picture', async (t) => {
  const page = Buffer.alloc(8192);
  page.write('bob@acme.com', 5000);
  t.same(kindsIn(JSON.stringify({ file: page.toString('base64') })), ['email-address']);
});

t.test('what is hidden in groups of one or two characters is found whatever stands around it', async (t) => {
  const key = expandSample('xAKIA{base32:15}7y');
  for (const length of [1, 2]) {
    const hidden = key.replace(new RegExp(`.{${length}}(?!$)`, 'g'), '$&-');
    t.not(kindsIn(JSON.stringify({ note: hidden })).length, 0, hidden.slice(0, 8));
  }
});

/** Sections of a program: numbers with many zeros, code and names. */
function programOf(names: string): Buffer {
  const numbers = Buffer.alloc(16_384);
  for (let at = 0; at < numbers.length; at += 8) numbers.writeUInt32LE((at * 2654435761) >>> 0, at);
  return Buffer.concat([
    Buffer.from('\x7fELF\x02\x01\x01\0', 'latin1'),
    numbers,
    Buffer.from(names),
    numbers,
  ]);
}

t.test('what patterns meet in a program, or in what stands for one, is none', async (t) => {
  const contextual = programOf(
    '\0Cannot send password to helper: \0x9Kd02mQpZ7\0nfo_hstore_containedpg_finfo_hstore_each\0',
  );
  t.same(kindsIn(contextual, 'application/octet-stream'), [], 'as it is');
  t.same(kindsIn(inJson(contextual.toString('base64'))), [], 'in base64');
  const text = contextual.toString('base64');
  for (const sample of ['EAA{alnum:160}', 'ABIA{base32:16}'])
    t.same(
      kindsIn(inJson(withPiece(Buffer.from(text), expandSample(sample)).toString('latin1'))),
      [],
      sample,
    );
});

t.test('what says what it is by itself is found in a program, too', async (t) => {
  for (const secret of ['ghp_{crc:36}', 'sk_live_{alnum:24}']) {
    const program = programOf(`\0${expandSample(secret)}\0`);
    t.not(kindsIn(program, 'application/octet-stream').length, 0, 'as it is');
    t.not(kindsIn(inJson(program.toString('base64'))).length, 0, 'in base64');
  }
});
