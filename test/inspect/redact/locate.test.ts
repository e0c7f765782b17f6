import t from 'tap';
import { createLocator, jsonDepth, jsonValueSpan } from '../../../src/inspect/redact/locate.ts';

const places = [
  { json: '{"messages":[{"role":"user","content":"X"}]}', want: '$.messages[0].content' },
  { json: '{"a":[1,[2,{"b":[3,"X"]}]]}', want: '$.a[1][1].b[1]' },
  { json: '[[],{},"X"]', want: '$[2]' },
  { json: '{"odd name":"X"}', want: "$['odd name']" },
  { json: '{"it\'s \\\\":"X"}', want: "$['it\\'s \\\\']" },
  { json: '{"l\\u0069ne\\n":"X"}', want: "$['line\\u{a}']" },
  { json: '{"\u202e\u0000":"X"}', want: "$['\\u{202e}\\u{0}']" },
  { json: '{"__proto__":{"constructor":"X"}}', want: '$.__proto__.constructor' },
  { json: '{"a":{"b":1},"c":"X"}', want: '$.c' },
  { json: '{"a":{"b":1} X}', want: '$.a' },
  { json: '{"a":{"b":1 X}', want: '$.a.b' },
  { json: '"X"', want: '$' },
  { json: '{"a":1}\n{"b":"X"}', want: '$.b' },
  { json: '{"a":"\\"}],X"}', want: '$.a' },
  { json: '{"a":[1,2,"X', want: '$.a[2]' },
  { json: '}]],:"X"', want: '$' },
  { json: '{"n\\ud":"X"}', want: "$['n\\\\ud']" },
  { json: `{"${'k'.repeat(70)}":"X"}`, want: `$['${'k'.repeat(63)}…']` },
  { json: `{"${'\\u0001'.repeat(100)}":"X"}`, want: `$['${'\\\\u0001'.repeat(9)}…']` },
];

t.test('a place in JSON is a path', async (t) => {
  for (const { json, want } of places) {
    const bytes = Buffer.from(json);
    t.equal(createLocator('json', bytes)(bytes.indexOf('X')), want, JSON.stringify(json.slice(0, 60)));
  }
});

t.test('a finding in a key is placed at its value, and the name is not shown', async (t) => {
  const bytes = Buffer.from('{"a":{"tok-123":{"b":"user@example.org"}}}');
  const at = bytes.indexOf('tok');
  t.equal(createLocator('json', bytes)(at), "$.a['[REDACTED]']");
  t.equal(
    createLocator('json', bytes, [{ start: at, end: at + 7 }])(bytes.indexOf('user')),
    "$.a['[REDACTED]'].b",
  );
  t.equal(createLocator('json', bytes)(bytes.indexOf('user')), "$.a['tok-123'].b");
});

t.test('one locator answers for all offsets, also beyond the text', async (t) => {
  const bytes = Buffer.from('{"a":[10,20],"b":30}');
  const locate = createLocator('json', bytes);
  for (const [offset, want] of [
    [0, '$'],
    [1, "$['[REDACTED]']"],
    [5, '$.a'],
    [6, '$.a[0]'],
    [9, '$.a[1]'],
    [12, '$'],
    [17, '$.b'],
    [99, '$'],
    [-1, '$'],
  ] as const) {
    t.equal(locate(offset), want, `${offset}`);
  }
});

const fields = [
  { form: 'a=1&field=X&c=3', want: '$.field' },
  { form: 'X=1', want: "$['[REDACTED]']" },
  { form: 'a=1&X', want: "$['[REDACTED]']" },
  { form: 'user%5Bname%5D=X', want: "$['user[name]']" },
  { form: 'a+b=X', want: "$['a b']" },
  { form: '=X', want: "$['']" },
  { form: '%zz%0a=X', want: "$['%zz\\u{a}']" },
];

t.test('a place in a form is a field', async (t) => {
  for (const { form, want } of fields)
    t.equal(createLocator('form', Buffer.from(form))(form.indexOf('X')), want, form);
});

t.test('other texts have no places', async (t) => {
  t.equal(createLocator('text', Buffer.from('{"a":1}'))(5), '$');
  t.equal(createLocator('xml', Buffer.from('<a>1</a>'))(3), '$');
});

t.test('nesting of any depth is walked, and the path is cut', async (t) => {
  const deep = Buffer.from(`${'{"a":['.repeat(100_000)}"X"`);
  const path = createLocator('json', deep)(deep.indexOf('X'));
  t.equal(path, `$${'.a[0]'.repeat(51)}`.slice(0, 255).concat('…'));
  t.equal(path.length, 256, 'characters');
});

const values = [
  { json: '{"body": {"a":[1]} ,"b":2}', key: 'body', want: '{"a":[1]}' },
  { json: ' {"b":"x","body":"y"} ', key: 'body', want: '"y"' },
  { json: '{"body":1,"body":22}', key: 'body', want: '22' },
  { json: '{"b\\u006fdy":1}', key: 'body', want: '1' },
  { json: '{"body":1,"b\\u006fdy":true}', key: 'body', want: 'true' },
  { json: '{"a":{"body":1}}', key: 'body', want: undefined },
  { json: '{"a":"body"}', key: 'body', want: undefined },
  { json: '{"":null}', key: '', want: 'null' },
  { json: '{"ключ😀":1}', key: 'ключ😀', want: '1' },
  { json: '{"__proto__":{}}', key: '__proto__', want: '{}' },
  { json: '["body",1]', key: 'body', want: undefined },
  { json: '{}', key: 'body', want: undefined },
  { json: '', key: 'body', want: undefined },
  { json: '{"body":[1,2', key: 'body', want: undefined },
  { json: '{"body":', key: 'body', want: undefined },
  { json: '{"body" 1}', key: 'body', want: undefined },
];

t.test('the value of a member is found as JSON.parse finds it', async (t) => {
  for (const { json, key, want } of values) {
    const bytes = Buffer.from(json);
    const span = jsonValueSpan(bytes, key);
    t.equal(span && bytes.toString('utf8', span.start, span.end), want, json);
  }
});

const depths = [
  { json: '[[1]]', max: 2, isDeeper: false },
  { json: '[[1]]', max: 1, isDeeper: true },
  { json: '[{"a":{}}]', max: 2, isDeeper: true },
  { json: '[1,[2],[3],{"a":4}]', max: 2, isDeeper: false },
  { json: '"[[[[\\"[["', max: 0, isDeeper: false },
  { json: '1', max: 0, isDeeper: false },
  { json: '['.repeat(1_000_000), max: 999_999, isDeeper: true },
];

t.test('depth is told without recursion', async (t) => {
  for (const { json, max, isDeeper } of depths)
    t.equal(jsonDepth(Buffer.from(json), max), isDeeper, json.slice(0, 30));
});
