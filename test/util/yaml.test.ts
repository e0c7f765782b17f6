import fc from 'fast-check';
import t from 'tap';
import { stringify } from 'yaml';
import { readYaml, type YamlBounds } from '../../src/util/yaml.ts';

/** Of one document: its value, or its mistakes as `line:column message`. */
function read(text: string, bounds: Partial<YamlBounds> = {}): unknown {
  const { documents, mistakes } = readYaml(text, bounds);
  if (mistakes.length > 0) return mistakes.map(({ line, column, message }) => `${line}:${column} ${message}`);
  const values = documents.map(({ value }) => value);
  return bounds.documentsMax === undefined ? values[0] : values;
}

t.test('a text says what the core schema says that it does', async (t) => {
  const cases: [text: string, value: unknown][] = [
    ['', null],
    ['# only a comment', null],
    ['{"a": [true, null, 1.5, "x"]}', { a: [true, null, 1.5, 'x'] }],
    ['a: 1\nb: { a: 2 }\nc: [{ a: 3 }, { a: 4 }]', { a: 1, b: { a: 2 }, c: [{ a: 3 }, { a: 4 }] }],
    ['1: x\ntrue: y\nnull: z', { 1: 'x', true: 'y', null: 'z' }],
    ['a: 2026-11-21\nb: no', { a: '2026-11-21', b: 'no' }],
    ['%YAML 1.1\n---\na: no\nb: 010', { a: 'no', b: 10 }],
    ['<<: { a: 1 }', { '<<': { a: 1 } }],
    ['a: !!str 1', { a: '1' }],
    ['a: &unused 1', { a: 1 }],
  ];
  for (const [text, value] of cases) t.same(read(text), value, text);
  t.same(read('a\n---\n# nothing\n---\n{}\n', { documentsMax: 3 }), ['a', null, {}]);

  const { value } = readYaml('__proto__: { polluted: 1 }').documents[0] ?? {};
  t.ok(Object.hasOwn(value as object, '__proto__'), 'a field like any other');
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
});

t.test('what cannot be told, or could be more than it looks, is a mistake with its place', async (t) => {
  const cases: [text: string, ...mistakes: string[]][] = [
    ['a:\n  - b\n c: 1', '3:2 the indentation is wrong here'],
    ['a: b: c', '1:5 a text that holds ": " or ends in ":" must be quoted'],
    ['a: 1\nb: 2\na: 3\na: 4', '3:1 this key stands here twice', '4:1 this key stands here twice'],
    ['a: [{ b: 1, "b": 2 }]', '1:13 this key stands here twice'],
    ['1: x\n"1": y', '2:1 this key stands here twice'],
    [': x\n"": y', '2:1 this key stands here twice'],
    ['? [a]\n: 1', '1:3 a key must be text'],
    ['a: &a 1\nb: *a', '2:4 aliases are not supported here'],
    ['b: *a', '1:4 aliases are not supported here'],
    [`&a [${'*a, '.repeat(2)}]`, '1:5 aliases are not supported here'],
    ['a: !secret x', '1:4 tags are not supported'],
    ['a: !!binary aGk=', '1:4 tags are not supported'],
    ['!!set { a }', '1:1 tags are not supported'],
    ['a: 1\n---\nb: 1', '2:1 there is a second document; there may be only one'],
    ['a:\n\tb: 1', '2:1 lines are indented by spaces, not by tabs'],
    ['a: @b', '1:4 a text that begins with "@" or "`" must be quoted'],
    ['a: 1\n b: 2', '2:3 the indentation is wrong here'],
    ['a: "\\z"', '1:6 there is no such escape in a double-quoted text'],
    ['%TAG !! tag:x.test,2026:\n---\na: !!str x', '3:4 tags are not supported'],
    ['a: [\nb: 1', '2:1 this must be indented, or a quote, bracket or brace before it does not end'],
    ['a: "x\nb: 1', '2:1 this must be indented, or a quote, bracket or brace before it does not end'],
    [`a: { b: \${env:C} }`, '1:10 inside of {} and [], a text with "${" must be quoted'],
    ['\ta: {}', '1:3 lines are indented by spaces, not by tabs'],
    ['{', '1:2 a quote, bracket, brace, comma or colon is missing here'],
  ];
  for (const [text, ...mistakes] of cases) t.strictSame(read(text), mistakes, text);
  t.same(read('a\n---\n'.repeat(3), { documentsMax: 3 }), ['6:1 there are more than 3 documents']);
});

t.test('aliases are read where they are wanted, as far as they stand for little', async (t) => {
  const bounds = { aliasesMax: 3 };
  t.same(read('a: &a { n: 1 }\nb: [*a, *a]\nc: *a', bounds), {
    a: { n: 1 },
    b: [{ n: 1 }, { n: 1 }],
    c: { n: 1 },
  });
  t.same(read('a: &a 1\nb: *a\nc: &a 2\nd: *a', bounds), { a: 1, b: 1, c: 2, d: 2 }, 'the last one before');
  t.same(read('a: &a 1\nb: [*a, *a, *a, *a, *a]', bounds), ['2:17 there are more than 3 aliases']);
  const refused: Record<string, string> = {
    'without an anchor': 'a: *b',
    'in front of their anchor': 'a: *b\nb: &b 1',
    'of what they stand in': 'a: &a [*a]',
  };
  for (const [name, text] of Object.entries(refused))
    t.match(
      read(text, bounds),
      [/^1:\d+ there is no such anchor before this alias, or it has not ended$/],
      name,
    );
  const levels = Array.from({ length: 20 }, (_, n) => `l${n + 1}: &l${n + 1} [*l${n}, *l${n}]`);
  t.match(
    read(`l0: &l0 x\n${levels.join('\n')}`, { aliasesMax: 50 }),
    [/^1:1 aliases of aliases stand for too much$/],
    'of doubles of doubles',
  );
});

t.test('a document with a mistake has no value, and others have', async (t) => {
  const { documents, mistakes } = readYaml('a: 1\n---\nb: 1\nb: 2\n---\nc: 1', {
    documentsMax: 3,
  });
  t.same(
    documents.map(({ value, line }) => ({ value, line })),
    [
      { value: { a: 1 }, line: 1 },
      { value: null, line: 3 },
      { value: { c: 1 }, line: 6 },
    ],
  );
  t.match(mistakes, [{ line: 4, column: 1, isFatal: false }]);
});

t.test('messages hold nothing of the text', async (t) => {
  const secret = 'hunter2';
  for (const text of [
    `"${secret}`,
    `${secret}: 1\n${secret}: 2`,
    `a: !${secret} x`,
    `a: *${secret}`,
    `%${secret} 1\n---\n`,
  ])
    t.notMatch(JSON.stringify(readYaml(text).mistakes), secret, text);
});

t.test('nesting is refused before anything recurses into it', async (t) => {
  const shapes: Record<string, (levels: number) => string> = {
    'lists in brackets': (n) => '['.repeat(n) + ']'.repeat(n),
    'mappings in braces': (n) => '{ a: '.repeat(n) + '}'.repeat(n),
    'lists by dashes': (n) => `${'- '.repeat(n)}x`,
    'lists by lines': (n) => Array.from({ length: n }, (_, level) => `${' '.repeat(level)}-`).join('\n'),
    'mappings by lines': (n) => Array.from({ length: n }, (_, level) => `${' '.repeat(level)}a:`).join('\n'),
  };
  for (const [name, nested] of Object.entries(shapes)) {
    const { documents, mistakes } = readYaml(nested(98));
    t.same(mistakes, [], name);
    t.not(documents[0]?.value, null, name);
    for (const levels of [104, 4000])
      t.match(read(nested(levels)), [/^\d+:\d+ this is nested too deep$/], name);
  }
  t.match(read('- ? '.repeat(4000)), [/ this is nested too deep$/], 'as keys');
  t.match(read('['.repeat(100_000)), [/ this is nested too deep$/], 'without an end');
  t.match(
    read(`a: 1\n---\n${'['.repeat(200)}`, { documentsMax: 3 }),
    [/^3:\d+ this is nested too deep$/],
    'in a later document',
  );
});

t.test('no more mistakes than fifty are told', async (t) => {
  const many = readYaml('a: *b\n---\n'.repeat(200), { documentsMax: 1000 });
  t.equal(many.mistakes.length, 50);
  t.equal(readYaml('a: 1\n'.repeat(200)).mistakes.length, 50);
  t.equal(readYaml(']'.repeat(2000)).mistakes.length, 1, 'behind what is no YAML none is looked for');
});

t.test('a mapping of a hundred thousand keys is read', async (t) => {
  // Comparing each key with all others takes minutes, and the test then runs into its limit.
  const names = Array.from({ length: 100_000 }, (_, index) => `k${index}`);
  const text = names.map((name) => `${name}: 1\n`).join('');
  t.equal(Object.keys(read(text) as object).length, names.length);
  t.strictSame(read(`${text}k7: 2\n`), ['100001:1 this key stands here twice']);
});

t.test('a path leads to its line, or to that of the nearest thing around it', async (t) => {
  const [first, second] = readYaml('# head\na:\n  - b: 1\n    c:\n      d: 2\n---\n\n- x\n- y\n', {
    documentsMax: 2,
  }).documents;
  const cases: [path: string, line: number][] = [
    ['a[0].c.d', 5],
    ['a[0].c.e', 5],
    ['a[0].b', 3],
    ['a[7]', 3],
    ['z', 2],
    ['', 2],
  ];
  for (const [path, line] of cases) t.equal(first?.lineOf(path), line, path);
  t.equal(second?.lineOf('[1]'), 9);
});

t.test('texts that make a parser look back again and again are read in time', async (t) => {
  // What took the square of the length would take minutes here.
  const n = 100_000;
  const texts = {
    'flow lists': `[${'[],'.repeat(n)}]`,
    'flow keys': `{${Array.from({ length: n }, (_, nth) => `k${nth}: 1, `).join('')}}`,
    'explicit keys': '? a\n'.repeat(n),
    'lines of a plain text': `k: ${'a\n  '.repeat(n)}`,
    'blank lines of a block': `a: |\n${'\n'.repeat(n)}  x`,
    anchors: '- &a x\n'.repeat(n),
    comments: '# x\n'.repeat(n),
    documents: '---\n'.repeat(n),
    'open quotes': '["a\n'.repeat(n),
    'a long tag': `!${'x'.repeat(n)} a`,
    'nested pairs': '[a: '.repeat(90),
    'keys that are lists': `${'['.repeat(90)}${']: '.repeat(90)}`,
  };
  for (const [name, text] of Object.entries(texts)) {
    const { documents } = readYaml(text, { documentsMax: 2 });
    t.ok(documents.length > 0, name);
  }
});

t.test('what another writer of YAML has written is read as it was meant', async (t) => {
  const text = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.constantFrom(
      'no',
      '~',
      '0o7',
      '1e3',
      '- a',
      'a: b',
      '---',
      ' x',
      '#',
      '*a',
      "'",
      '.inf',
      'a\nb\n',
      '\u00a0',
      '!x',
    ),
  );
  const { value: values } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      tie('list'),
      tie('mapping'),
    ),
    list: fc.array(tie('value'), { maxLength: 4 }),
    mapping: fc.dictionary(text, tie('value'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  }));
  for (const layout of [{}, { collectionStyle: 'flow' }, { defaultStringType: 'QUOTE_DOUBLE' }] as const)
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(
          values,
          (value) => JSON.stringify(read(stringify(value, layout))) === JSON.stringify(value),
        ),
        { numRuns: 300 },
      ),
    );
});
