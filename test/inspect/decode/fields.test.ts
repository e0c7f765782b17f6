import t from 'tap';
import { type FieldFormat, fieldPiecesOf, fieldsOf } from '../../../src/inspect/decode/fields.ts';

/** Name and value of every field, whatever syntax has found it. */
const read = (text: string, format: FieldFormat): string[] => {
  const bytes = Buffer.from(text);
  return fieldsOf(bytes, format)
    .flat()
    .map(({ name, start, end }) => `${name}=${bytes.toString('utf8', start, end)}`);
};

const cases: { name: string; format: FieldFormat; text: string; want: string[] }[] = [
  {
    name: 'members, and items without names',
    format: 'json',
    text: '{"a": "one", "n": 5, "list": ["two", "three"], "c" : {"d":"four"}}',
    want: ['a=one', '=two', '=three', 'd=four'],
  },
  {
    name: 'escapes inside of strings',
    format: 'json',
    text: String.raw`{"a\"b": "on\"e\n", "c": "two"}`,
    want: [String.raw`a\"b=on\"e\n`, 'c=two'],
  },
  {
    name: 'JSON in a string of JSON',
    format: 'json',
    text: JSON.stringify({ arguments: JSON.stringify({ part1: 'one', part2: 'two\n' }) }),
    want: [
      String.raw`arguments={\"part1\":\"one\",\"part2\":\"two\\n\"}`,
      'part1=one',
      String.raw`part2=two\\n`,
    ],
  },
  { name: 'JSON that is cut off', format: 'json', text: '{"a":"one","b":"tw', want: ['a=one'] },
  { name: 'a form', format: 'form', text: 'a=one&b=t%20wo&c=&d', want: ['a=one', 'b=t%20wo'] },
  {
    name: 'elements',
    format: 'xml',
    text: '<r><a id="1">one</a><b>two</b><c/></r>',
    want: ['a=one', 'b=two', 'id=1'],
  },
  {
    name: 'attributes',
    format: 'xml',
    text: `<r a="one" b:c = 'two'><d e="three"/></r>`,
    want: ['a=one', 'b:c=two', 'e=three'],
  },
  {
    name: 'parts and the names of files',
    format: 'multipart',
    text: [
      '--b\r\nContent-Disposition: form-data; name="p1"\r\n\r\none\r\n',
      '--b\r\nContent-Disposition: form-data; name="p2"; filename="two.txt"\r\n',
      'Content-Type: text/plain\r\n\r\nthree\r\n--b--',
    ].join(''),
    want: ['p1=one', 'p2=three', 'p2=two.txt'],
  },
  {
    name: 'lines',
    format: 'text',
    text: 'A=one\n  b: two\n',
    want: ['A=one', 'b=two', '=A=one', '=  b: two'],
  },
  {
    name: 'URL, header fields and cookies',
    format: 'head',
    text: 'https://h.example/p?a=one&b=two\n\x1e\nx-part: three\n\x1e\ncookie: c=four; d=five\n\x1e\n',
    want: ['a=one', 'b=two', 'c=four', 'd=five', 'x-part=three', 'cookie=c=four; d=five'],
  },
];

for (const { name, format, text, want } of cases) {
  t.test(`reads ${name}`, async (t) => t.same(read(text, format), want));
}

t.test('reads names and values alike', async (t) => {
  const pieces = (text: string, format: FieldFormat) =>
    fieldPiecesOf(Buffer.from(text), format).map(({ start, end }) => text.slice(start, end));
  t.same(pieces('{"a":{"b":"one"},"c":["two",3,""]}', 'json'), ['a', 'b', 'one', 'c', 'two']);
  t.same(pieces('a=one&b', 'form'), ['a', 'one', 'b']);
  t.same(pieces('https://h.example/p?a=one&b=two\n\x1e\nc: three', 'head').slice(-4), [
    'a',
    'one',
    'b',
    'two',
  ]);
  t.same(pieces('a,b', 'text'), []);
});

t.test('a value that is longer than 4096 bytes is no piece of anything', async (t) => {
  t.same(read(`a=${'x'.repeat(4096)}`, 'form').length, 1);
  t.same(read(JSON.stringify({ a: 'x'.repeat(4096) }), 'json').length, 1);
  t.same(read(JSON.stringify({ a: 'x'.repeat(4097) }), 'json'), []);
  const behind = JSON.stringify({ a: 'x'.repeat(9000), b: 'one', c: ['two'] });
  t.same(read(behind, 'json'), ['b=one', '=two'], 'what stands behind it is read all the same');
  t.same(read(JSON.stringify({ json: behind }), 'json'), ['b=one', '=two'], 'in a nested text, too');
});

t.test('what looks like fields and is none takes a time that grows with its length', async (t) => {
  const hostile = [
    '"',
    '\\"',
    '":"',
    'a=',
    'a:',
    '<a>',
    ' name="a"',
    ' name="a"\r\n\r\n',
    ',',
    'x',
    '\\',
    '<a ',
  ];
  for (const unit of hostile) {
    const bytes = Buffer.from(unit.repeat(Math.ceil(262_144 / unit.length)));
    for (const format of ['json', 'form', 'xml', 'multipart', 'text', 'head'] as const) {
      t.ok(Array.isArray(fieldsOf(bytes, format)), `${JSON.stringify(unit)} as ${format}`);
    }
  }
});
