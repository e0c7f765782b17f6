import t from 'tap';
import { z } from 'zod';
import { parseBody } from '../../src/api/request-body.ts';
import type { Route } from '../../src/api/route.ts';

const read = (text: string | Buffer, type: string): unknown =>
  parseBody({ body: z.unknown(), takesYaml: true } as unknown as Route, Buffer.from(text as string), type)
    .value;
const yaml = 'application/yaml';

t.test('YAML says the same as JSON', async (t) => {
  const cases: [text: string, value: unknown][] = [
    [
      'name: a\nrules:\n  - { rule_id: r, priority: 1 }\n',
      { name: 'a', rules: [{ rule_id: 'r', priority: 1 }] },
    ],
    ['# only\n{"a": [true, null, 1.5, "x"]}', { a: [true, null, 1.5, 'x'] }],
    ['a: { n: 1 }\nb: { n: 1 }', { a: { n: 1 }, b: { n: 1 } }],
    ['1: x', { 1: 'x' }],
  ];
  for (const [text, value] of cases) t.same(read(text, yaml), value, text);
  const { polluted } = {} as { polluted?: unknown };
  read('__proto__: { polluted: 1 }', yaml);
  t.equal(polluted, undefined);
});

t.test('YAML that says more than JSON could is refused', async (t) => {
  const cases: Record<string, string> = {
    'an alias': 'a: &a 1\nb: *a',
    'aliases of what they stand in': `&a [${'*a,'.repeat(2000)}]`,
    'a key that stands twice': 'a: 1\nb: 2\na: 3',
    'a key that stands twice, deeper': 'rules: [{ match: {}, match: { methods: [GET] } }]',
    'a key that stands twice, in two spellings': 'a: 1\n"a": 2',
    'a key that stands twice, once as a number': '1: a\n"1": b',
    'a second document': 'a: 1\n---\na: 2',
    'a key that is no text': '? [a]\n: 1',
    rubbish: '{',
  };
  for (const [name, text] of Object.entries(cases))
    t.throws(() => read(text, yaml), { code: 'VALIDATION_FAILED', message: /not valid YAML/ }, name);
});

t.test('what is wrong with YAML is said with its place, and without its text', async (t) => {
  const secret = 'hunter2';
  const cases: [text: string, message: string][] = [
    [`a: 1\n${secret}: 2\n${secret}: 3`, 'line 3, column 1: this key stands here twice'],
    [`b: *${secret}`, 'line 1, column 4: aliases are not supported here'],
    ['['.repeat(20_000), 'line 1, column 100: this is nested too deep'],
    [`a: "${secret}`, 'line 1, column 12: a quote, bracket, brace, comma or colon is missing here'],
  ];
  for (const [text, message] of cases) {
    const whole = `The body is not valid YAML: ${message}.`;
    t.throws(
      () => read(text, yaml),
      { message: whole, extra: { errors: [{ path: '', message: whole }] } },
      message,
    );
  }
  for (const type of [yaml, 'application/json'])
    t.throws(() => read(Buffer.from([0x61, 0xff]), type), { message: 'The body is not UTF-8.' }, type);
});

t.test('a byte order mark is white space to YAML, and JSON has none', async (t) => {
  t.same(read('\ufeffa: 1', yaml), { a: 1 });
  t.throws(() => read('\ufeff{"a":1}', 'application/json'), { message: 'The body is not valid JSON.' });
});

t.test('YAML has a bound of its own, since it takes long to read', async (t) => {
  const fits = `a: ${'x'.repeat(32_765)}`;
  t.ok(read(fits, yaml));
  t.throws(() => read(`${fits}x`, yaml), {
    code: 'PAYLOAD_TOO_LARGE',
    extra: { actual_bytes: 32_769, limit_bytes: 32_768 },
  });
  t.ok(read(JSON.stringify({ a: fits }), 'application/json'), 'JSON has not');
});

t.test('a form is read where a route takes one, each field once', async (t) => {
  const form = 'application/x-www-form-urlencoded';
  const fields = z.object({ a: z.string() });
  const take = (text: string | Buffer, type = form): unknown =>
    parseBody({ body: fields, takesForm: true } as unknown as Route, Buffer.from(text as string), type).value;
  t.same(take('a=1+2%263&b=x', `${form}; charset=utf-8`), { a: '1 2&3' });
  const { polluted } = {} as { polluted?: unknown };
  t.same(take('__proto__=x&a=1'), { a: '1' });
  t.equal(polluted, undefined);
  for (const text of ['', 'b=1', 'a=1&a=2', '__proto__=1&__proto__=2&a=1'])
    t.throws(() => take(text), { code: 'VALIDATION_FAILED' }, text);
  t.throws(() => take(Buffer.from([0x61, 0x3d, 0xff])), { message: 'The body is not UTF-8.' });
  for (const type of ['application/json', '', yaml])
    t.throws(() => take('{"a":"1"}', type), { code: 'UNSUPPORTED_MEDIA_TYPE' }, type);
  t.throws(() => read('a=1', form), { code: 'UNSUPPORTED_MEDIA_TYPE' }, 'and nowhere else');
});
