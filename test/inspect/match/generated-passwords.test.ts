import t from 'tap';
import { bodyPart, readPart } from '../../../src/inspect/read-part.ts';
import { engine } from '../../support/detectors.ts';
import { createNoise } from '../../support/noise.ts';

const bounds = { maxDecodedBytes: 1_000_000, isOver: () => false };
const count = 200;
const printable = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 0x21 + index));
const noise = createNoise(11);

/** Returns twelve to twenty-one characters with a digit among them, as a program generates passwords. */
function passwordOf(characters: string): string {
  for (;;) {
    const [length = 0, ...bytes] = noise(22);
    const password = Array.from(
      bytes.slice(0, 12 + (length % 10)),
      (byte) => characters[byte % characters.length],
    ).join('');
    if (/\d/.test(password)) return password;
  }
}

const escaped = (quote: string, text: string): string =>
  text.replaceAll(/[\\"']/g, (sign) => (sign === quote || sign === '\\' ? `\\${sign}` : sign));
const asEntities = (text: string): string =>
  text.replaceAll(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A way of writing a password, its content type, and the least share of all passwords that is cut out whole. */
const ways: readonly (readonly [
  name: string,
  type: string,
  share: number,
  write: (password: string) => string,
])[] = [
  ['JSON', 'application/json', 0.87, (it) => JSON.stringify({ user: 'app', password: it, port: 5432 })],
  [
    'JSON in a message',
    'application/json',
    0.87,
    (it) =>
      JSON.stringify({
        messages: [
          {
            role: 'user',
            content: `here:\n${JSON.stringify({ db: { password: it } }, null, 2)}\nplease check`,
          },
        ],
      }),
  ],
  [
    'a client secret',
    'application/json',
    0.87,
    (it) => JSON.stringify({ client_id: 'x', client_secret: it }),
  ],
  ['Python', 'text/plain', 0.93, (it) => `conn = connect(host="db1", password="${escaped('"', it)}")\n`],
  ['single quotes', 'text/plain', 0.93, (it) => `PASSWORD = '${escaped("'", it)}'\n`],
  ['YAML in quotes', 'text/plain', 0.93, (it) => `db:\n  password: "${escaped('"', it)}"\n  port: 1\n`],
  ['XML', 'application/xml', 0.97, (it) => `<db><password>${asEntities(it)}</password></db>`],
  [
    'a form',
    'application/x-www-form-urlencoded',
    0.95,
    (it) => `user=app&password=${encodeURIComponent(it)}&x=1`,
  ],
  ['an environment file', 'text/plain', 0.78, (it) => `DB_HOST=db1\nDB_PASSWORD=${it}\nDB_PORT=1\n`],
  ['YAML without quotes', 'text/plain', 0.78, (it) => `db:\n  password: ${it}\n  port: 1\n`],
  ['a sentence', 'text/plain', 0.74, (it) => `Hi, the admin password is ${it} - please change it.`],
];

t.test('finds generated passwords of all printable characters whole, however they are written', async (t) => {
  for (const [name, type, share, write] of ways) {
    let whole = 0;
    for (let n = 0; n < count; n += 1) {
      const password = passwordOf(printable);
      const body = Buffer.from(write(password));
      const { findings } = readPart(bodyPart(body, type, 'api.example'), engine, bounds);
      const secrets = findings.filter((it) => it.class === 'SECRETS' && it.confidence !== 'low');
      if (secrets.some(({ start, end }) => end - start >= password.length)) whole += 1;
    }
    t.ok(whole >= share * count, `${name}: ${whole} of ${count}`);
  }
});

t.test('leaves what stands behind a password', async (t) => {
  const bodies = [
    '{"password":"aB3}/vYR)T9#","user":"app"}',
    String.raw`{"content":"{\"password\":\"aB3}/vYR)T9#\",\"user\":\"app\"}"}`,
    'x("password":"aB3}/vYR)T9#",user="app")',
    "{'password': 'aB3}/vYR)T9#', 'user': 'app'}",
    'user=app&password=aB3}/vYR)T9#&user=app',
    '{"content":"password=\'aB3}/vYR)T9#\'","next":"x","n":1}',
    '{"content":"password=\'aB3}/vYR)T9#","next":"x","n":1}',
    '<c><db password="aB3}/vYR)T9#"/><db name="x"/></c>',
    "<c><db password='aB3}/vYR)T9#'/><db name='x'/></c>",
    '<% password="aB3}/vYR)T9#"%><p>next</p>',
    'connect(password="aB3}/vYR)T9#"/*x*/,user="app")',
    'echo \'password="aB3}/vYR)T9#"\'',
    "['DB_PASSWORD=aB3}/vYR)T9#','PORT=1']",
    "curl 'https://x.example/?user=app&password=aB3}/vYR)T9#' -v",
    '<a href="https://x.example/?user=app&password=aB3}/vYR)T9#"/><b>next</b>',
  ];
  for (const text of bodies) {
    const body = Buffer.from(text);
    const type = text.startsWith('{"') ? 'application/json' : 'text/plain';
    const { findings } = readPart(bodyPart(body, type, 'api.example'), engine, bounds);
    const found = findings.filter((it) => it.class === 'SECRETS' && it.confidence !== 'low');
    const cut = found.map(({ start, end }) => text.slice(start, end));
    t.ok(cut.length > 0, text);
    for (const secret of cut) t.equal(secret, 'aB3}/vYR)T9#', text);
  }
});
