import t from 'tap';
import { decodeViews, type View } from '../../../src/inspect/decode/views.ts';
import { redactBody } from '../../../src/inspect/redact/redact.ts';

const bounds = { maxDecodedBytes: 1 << 20, depthMax: 3, isOver: () => false };

const tablesOf = (source: string | Buffer, isForm = false): View[] =>
  decodeViews(Buffer.from(source), { ...bounds, isForm }).views.filter(({ isTable }) => isTable);

/** What is read of the tables, cell by cell. */
const cellsOf = (source: string, isForm = false): string[] => [
  ...new Set(
    tablesOf(source, isForm).flatMap(({ bytes }) => bytes.toString().split('\n\x1e\n').slice(0, -1)),
  ),
];

const rows = [
  ['Ada Byron', '64184726Y'],
  ['Bo Chen', '02468135K'],
] as const;
const labelled = ['name: Ada Byron', 'dni: 64184726Y', 'name: Bo Chen', 'dni: 02468135K'];
const objects = rows.map(([name, dni]) => ({ name, dni }));
const lines = (separator: string): string =>
  [['name', 'dni'], ...rows].map((row) => row.join(separator)).join('\n');
const grid = [['name', 'dni'], ...rows];
const columns = ['name', 'dni'];
const html = (head: string): string =>
  `<TABLE class="a"><tr><${head}>name</${head}><${head}>dni</${head}></tr>${rows
    .map((row) => `<tr>${row.map((it) => `<td align="left"> <b>${it}</b></td>`).join('\n')}</tr>`)
    .join('')}</TABLE>`;
const insert = (list: string): string =>
  `INSERT INTO people ${list} VALUES ${rows.map(([name, dni]) => `('${name}', '${dni}')`).join(', ')};`;

const carriers: Readonly<Record<string, string>> = {
  'values with commas': lines(','),
  'values with semicolons': lines(';'),
  'values with tabs': lines('\t'),
  'lines that end in CR LF': `${lines(',').replaceAll('\n', '\r\n')}\r\n`,
  'quoted values': grid.map((row) => row.map((it) => `"${it}"`).join(',')).join('\n'),
  'a sentence before and one behind': `Please check these: ${lines(',')}\nThank you\n`,
  'a table behind an empty line': `Hello\n\n${lines(';')}\n\nRegards`,
  'columns without a name at the left': ['', 'no', 'name', 'dni']
    .join()
    .concat(...rows.map((row, index) => `\n${index},${index},${row.join()}`)),
  Markdown: `# People\n\n| name | dni |\n|:---|---:|\n${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`,
  'Markdown with a column of numbers': `| # | name | dni |\n|---|---|---|\n${rows.map((row, index) => `| ${index} | ${row.join(' | ')} |`).join('\n')}\n`,
  'the output of a database client': lines(' | ').replace('\n', '\n------+------\n'),
  'CSV in a JSON string': JSON.stringify({ id: 7, csv: lines(','), next: [{ a: 1 }, { b: 2 }] }),
  'CSV in a prompt': JSON.stringify({ messages: [{ role: 'user', content: `Sum up: ${lines(',')}\n` }] }),
  'Markdown in a JSON string': JSON.stringify({
    body: `| name | dni |\n|-|-|\n${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}`,
  }),
  HTML: html('th'),
  'HTML without header cells': html('td'),
  'HTML in a JSON string': JSON.stringify({ html: html('th') }),
  'INSERT with columns': insert('(name, dni)'),
  'INSERT with quoted columns': JSON.stringify({ sql: insert('(`name`, "dni")').replaceAll('),', '),\n') }),
  'COPY with columns': `COPY public.people (name, "dni") FROM stdin;\n${rows.map((row) => row.join('\t')).join('\n')}\n\\.\n`,
  'an array of arrays': JSON.stringify(grid),
  'an array of arrays, indented': JSON.stringify({ values: grid }, null, 2),
  'columns and rows': JSON.stringify({ meta: { a: [[1, 2]] }, columns, took: 3, rows }),
  'rows before columns': JSON.stringify({ data: rows, fields: columns }),
  'columns with types': JSON.stringify({ columns: columns.map((name) => ({ name, type: 'text' })), rows }),
  'columns and rows in a JSON string': JSON.stringify({ payload: JSON.stringify({ columns, rows }) }),
};

for (const [name, source] of Object.entries(carriers)) {
  t.test(`reads the cells of a table with the names of their columns: ${name}`, async (t) => {
    t.same(
      cellsOf(source)
        .filter((cell) => /^(name|dni): /.test(cell))
        .map((cell) => cell.replace(/["\]}[{,]+.*$/s, '')),
      labelled,
    );
    const [table] = tablesOf(source) as [View];
    const at = table.bytes.indexOf('64184726Y');
    const { start, end } = table.toSource(at, at + 9);
    t.equal(Buffer.from(source).toString('utf8', start, end), '64184726Y', 'the place is the value');
    const across = table.toSource(at - 3, at + 9);
    t.same(across, { start, end }, 'what begins in the name is cut in the value alone');
    const inName = table.toSource(at - 5, at - 2);
    t.equal(source.slice(inName.start, inName.end), 'dni', 'what lies in the name is the name');
  });
}

t.test('reads objects that describe a field', async (t) => {
  const field = (members: object): string[] => cellsOf(JSON.stringify({ answers: [members] }));
  t.same(field({ label: 'dni', type: 'text', required: true, value: '64184726Y' }), ['dni: 64184726Y']);
  t.same(field({ value: 64184726, note: 'x', key: 'dni' }), ['dni: 64184726']);
  t.same(field({ field: { id: 'f1', title: 'DNI' }, values: ['64184726Y', '02468135K'] }), [
    'DNI: 64184726Y',
    'DNI: 02468135K',
    'values: 64184726Y',
    'values: 02468135K',
  ]);
  t.same(field({ name: 'dni', inner: { value: '64184726Y' } }), ['inner: 64184726Y'], 'of another object');
  t.same(field({ name: 'dni', note: 'x'.repeat(3000), value: '64184726Y' }), [], 'an object of many bytes');
  t.same(cellsOf(JSON.stringify({ p: JSON.stringify({ label: 'dni', a: 1, value: '64184726Y' }) })), [
    'dni: 64184726Y',
  ]);
});

t.test('reads values one level below their name', async (t) => {
  const values = (value: unknown): string[] => cellsOf(JSON.stringify({ a: [{ dni: value }] }, null, 1));
  for (const key of ['S', 'stringValue', 'value', '$value', 'default', 'en-US'])
    t.same(values({ [key]: '64184726Y' }), ['dni: 64184726Y'], key);
  const both = ['dni: 64184726Y', 'dni: 02468135K'];
  t.same(values({ 0: '64184726Y', 1: '02468135K' }), both, 'a column of pandas');
  t.same(values(['64184726Y', '02468135K']), both, 'a list');
  t.same(cellsOf(JSON.stringify({ p: JSON.stringify({ dni: { S: '64184726Y' } }) })), ['dni: 64184726Y']);
  for (const other of [
    { type: '64184726Y' },
    { S: '64184726Y', note: 'x' },
    { S: '64184726Y', 0: '02468135K' },
    { 0: '64184726Y', N: '02468135K' },
    ['64184726Y', 7],
    ['64184726Y', 'of many words'],
    ['x'.repeat(300)],
    [],
    {},
  ])
    t.same(values(other), [], JSON.stringify(other).slice(0, 40));
  t.same(values(['short', '64184726Y']), ['dni: 64184726Y'], 'a value of few bytes');
  const many = Array.from({ length: 200 }, (_, at) => `64184726${at}`);
  t.equal(values(many).length, 128, 'a bounded number of a list');
});

t.test('reads the two columns of a table whose names stand at the left', async (t) => {
  t.same(cellsOf('<table><tr><th>dni</th><td>64184726Y</td></tr></table>'), ['dni: 64184726Y']);
});

t.test('reads a table in a form', async (t) => {
  const form = new URLSearchParams({ step: '2', data: lines(',') }).toString();
  t.same(cellsOf(form, true), labelled);
});

t.test('reads the fields of a form in parts', async (t) => {
  const part = (head: string, value: string): string =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
  const form = `${part('name="dni"', '64184726Y')}${part('name="file"; filename="a.txt"', 'many words')}--b--\r\n`;
  t.same(cellsOf(form), ['dni: 64184726Y'], 'a file is no field');
  t.same(cellsOf(part('name="dni"', 'x'.repeat(2000))), [], 'long values are texts');
  t.same(cellsOf('--b\r\nContent-Type: text/plain\r\n\r\n64184726Y\r\n--b--'), [], 'a part without a name');
});

t.test('reads values that hold what separates them', async (t) => {
  t.same(cellsOf('a,b,c\n"Byron, Ada","x ""y""\nz",123\n'), ['a: Byron, Ada', 'b: x ""y""\nz', 'c: 123']);
  t.same(cellsOf("INSERT INTO t (a, b) VALUES ('O''Neil, (x)', lower('A,B'))"), [
    "a: O''Neil, (x)",
    "b: lower('A,B')",
  ]);
});

const others: Readonly<Record<string, string>> = {
  prose: 'Dear all.\nThe report is late.\nBest, Ada.\n',
  code: 'const a = foo(x, y)\nconst b = bar(z, w)\nreturn [a, b];\n',
  'indented JSON': JSON.stringify(objects, null, 2),
  'rows without names': '1,64184726Y\n2,02468135K\n',
  'rows of another width': 'name,dni\n1,2,64184726Y\n',
  'a header alone': 'name,dni\n',
  coordinates: JSON.stringify({
    coordinates: [
      [
        [102.123, 0.512],
        [103.456, 1.112],
      ],
    ],
  }),
  'INSERT without columns': insert(''),
  'COPY of rows of another width': 'COPY a (name, dni) FROM stdin;\n64184726Y\n\\.\n',
  'COPY without rows': 'COPY a (name, dni) FROM stdin;',
  'HTML with one cell a row': '<table><tr><td>Hello there</td></tr></table>',
  'a name that is a sentence': 'we have seen that the last of them was, dni\nabcdef,64184726Y',
  'short values': 'name,dni\nab,cd\n',
};
for (const [name, source] of Object.entries(others))
  t.test(`reads no table: ${name}`, async (t) => {
    t.same(cellsOf(source), []);
  });

t.test('what is cut of a table leaves its shape', async (t) => {
  for (const source of [carriers['columns and rows'], carriers['CSV in a JSON string'], lines(',')]) {
    const bytes = Buffer.from(source ?? '');
    const [table] = tablesOf(bytes) as [View];
    const at = table.bytes.indexOf('64184726Y');
    const cut = { ...table.toSource(at - 5, at + 9), label: 'es-dni' };
    const isJson = source !== lines(',');
    const redacted = redactBody(bytes, [cut], isJson ? 'json' : 'text')?.toString();
    t.equal(redacted, source?.replace('64184726Y', '[REDACTED:es-dni]'));
  }
});

t.test('the cells of tables count as what was decoded', async (t) => {
  const { unreadable } = decodeViews(Buffer.from(`${'name'.repeat(12)},dni\n${'abcd,efgh\n'.repeat(5000)}`), {
    ...bounds,
    maxDecodedBytes: 50_000,
  });
  t.match(unreadable, /more than the limit/);
});

t.test('a text that is one table is readable whatever may be decoded', async (t) => {
  const rows = Array.from(
    { length: 500 },
    (_, at) => `${at},Jane Roe of Nowhere,1972-05-${at},${at * 7919}\n`,
  );
  const { views, unreadable } = decodeViews(Buffer.from(`id,name,born,number\n${rows.join('')}`), {
    ...bounds,
    maxDecodedBytes: 10_000,
  });
  t.equal(unreadable, undefined);
  t.ok(views.some(({ isTable }) => isTable));
});

t.test('a table that is none costs linear time', async (t) => {
  const pieces = [
    'a,b\n',
    'a,b\n"',
    '[[',
    '[[]]',
    '{"value":',
    'value"',
    '{"a":1,"value"',
    '(abc)values(',
    '<td>',
    '<td><b>',
  ];
  pieces.push('|a|b\n', 'a,"', '[["a"],', '{"label":"abc","value":"', '\n,', 'a;b|c,d\n', "(((abc)values('");
  pieces.push('"a":["', '"a":{"S":"', '"a":[', '"a" : {\n', '(abc) FROM stdin;\n', '(abc) FROM stdin;\n\t');
  let steps = 0;
  const isOver = (): boolean => {
    steps += 1;
    return false;
  };
  for (const piece of pieces) {
    steps = 0;
    const source = Buffer.from(piece.repeat(Math.ceil(262_144 / piece.length)));
    const { unreadable } = decodeViews(source, { maxDecodedBytes: 1 << 24, depthMax: 3, isOver });
    t.equal(unreadable, undefined, piece);
    t.ok(steps < 200_000, `${piece}: ${steps} looks at the clock`);
  }
});
