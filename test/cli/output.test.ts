import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { printable, printableLines, toFacts, toJson, toTable } from '../../src/cli/output.ts';
import { postern } from './support.ts';

const hostile = [
  { name: 'an escape sequence', text: 'a\x1b[31mb', shown: 'a\\u{1b}[31mb' },
  { name: 'a control character above ASCII', text: 'a\x9bb', shown: 'a\\u{9b}b' },
  { name: 'a line end', text: 'a\r\nb', shown: 'a\\u{d}\\u{a}b' },
  { name: 'a turned direction', text: 'a\u202eb', shown: 'a\\u{202e}b' },
  { name: 'a character without width', text: 'a\u200bb', shown: 'a\\u{200b}b' },
  { name: 'a tag beyond the first plane', text: 'a\u{e0041}b', shown: 'a\\u{e0041}b' },
  { name: 'half a character', text: 'a\ud800b', shown: 'a\\u{d800}b' },
  { name: 'letters of any script', text: 'Łódź 東京 🦊', shown: 'Łódź 東京 🦊' },
];

for (const { name, text, shown } of hostile) {
  t.test(`${name} steers no terminal`, async (t) => {
    t.equal(printable(text), shown);
    const json = toJson({ text });
    t.equal(printable(json), json, 'nothing in the JSON steers it either');
    t.same(JSON.parse(json), { text }, 'and its value is the same');
    t.equal(toTable([{ text }], ['text']), `text\n${shown}\n`);
    t.equal(toFacts({ text }), `text  ${shown}\n`);
  });
}

t.test('a table is as wide as it must be', async (t) => {
  const rows = [
    { id: 1, codes: ['A', 'B'], note: null },
    { id: 22, codes: [], note: 'x'.repeat(200) },
  ];
  const lines = toTable(rows, ['id', 'codes', 'note']).split('\n');
  t.equal(lines[0], 'id  codes  note');
  t.equal(lines[1], '1   A, B   -');
  t.equal(lines[2], `22  -      ${'x'.repeat(79)}…`, 'a long cell is cut');
  t.equal(toTable([], ['id']), 'id\n');
});

t.test('facts have a line for each of several records or sentences', async (t) => {
  t.equal(
    toFacts({ id: 1, notes: [{ by: 'a' }, { by: 'b' }], why: ['It is so.', 'So it is.'], codes: ['A', 'B'] }),
    'id     1\nnotes  {"by":"a"}\n       {"by":"b"}\nwhy    It is so.\n       So it is.\ncodes  A, B\n',
  );
  t.equal(
    toFacts({ id: 1, covers: { once: 'One call.', all: [] } }),
    'id           1\ncovers.once  One call.\ncovers.all   -\n',
  );
  t.equal(toJson({ a: [1] }, 2), '{\n  "a": [\n    1\n  ]\n}');
});

t.test('what goes wrong is said without steering the terminal', async (t) => {
  const dir = t.testdir({
    'postern.yaml': 'tenants: [{ id: acme }]\npolicies: [p.yaml]\n',
    'p.yaml': 'name: p\n"\\e[31m\\u202e": 1\nrules: []\n',
  });
  const file = join(dir, 'postern.yaml');
  const mistake = await postern(['--config', file, 'config', 'check']);
  t.match(mistake, { code: 1, stderr: /p\.yaml:1 \\u\{1b\}\[31m\\u\{202e\}: / });
  writeFileSync(join(dir, 'p.yaml'), policyFor('\\u202e'));
  const warning = await postern(['--config', file, 'config', 'check']);
  t.match(warning, { code: 0, stdout: /^warning: .*\\u\{202e\}/m });
  const unknown = await postern(['--config', file, '\x1b[31m']);
  t.match(unknown, { code: 2, stderr: /unknown command '\\u\{1b\}\[31m'/ });
  const absent = await postern(['--config', join(dir, '\x1b[31m'), 'status']);
  t.match(absent, { code: 1, stderr: /\\u\{1b\}\[31m has one mistake/ });
  for (const { stdout, stderr } of [mistake, warning, unknown, absent])
    t.equal(printableLines(`${stdout}${stderr}`), `${stdout}${stderr}`);
});

const policyFor = (tool: string): string =>
  `name: p\nrules: [{ rule_id: r, priority: 1, match: { tool_name: "${tool}" }, condition: {}, action: DENY }]\n`;
