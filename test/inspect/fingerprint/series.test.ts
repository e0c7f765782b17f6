import t from 'tap';
import { type FieldFormat, fieldsOf } from '../../../src/inspect/decode/fields.ts';
import { mayHoldSeries, numberedFields, seriesOf } from '../../../src/inspect/fingerprint/series.ts';

const series = (names: readonly string[]): string[][] =>
  seriesOf(numberedFields([names.map((name, at) => ({ name, start: at, end: at + 1 }))])).map((pieces) =>
    pieces.map(({ start }) => names[start] as string),
  );

const cases: { names: string[]; want: string[][] }[] = [
  { names: ['part1', 'part2'], want: [['part1', 'part2']] },
  { names: ['part_10', 'part_9', 'note', 'part_8'], want: [['part_8', 'part_9', 'part_10']] },
  { names: ['0', '1'], want: [['0', '1']] },
  { names: ['a', 'b', 'c'], want: [['a', 'b', 'c']] },
  { names: ['key_a', 'key_b'], want: [['key_a', 'key_b']] },
  { names: ['partA', 'partB'], want: [['partA', 'partB']] },
  { names: ['first_half', 'second_half'], want: [['first_half', 'second_half']] },
  { names: ['secretHead', 'secretTail'], want: [['secretHead', 'secretTail']] },
  { names: ['token-part-two', 'token-part-one'], want: [['token-part-one', 'token-part-two']] },
  {
    names: ['v1', 'v2', 'v1', 'v2'],
    want: [
      ['v1', 'v2'],
      ['v1', 'v2'],
    ],
  },
  { names: ['part1', 'piece2'], want: [] },
  { names: ['user', 'note', 'city', ''], want: [] },
  { names: ['part1'], want: [] },
];

t.test('fields of different lists make no series', async (t) => {
  const [one, other] = [
    { name: 'part1', start: 0, end: 1 },
    { name: 'part2', start: 1, end: 2 },
  ];
  t.same(seriesOf(numberedFields([[one], [other]])), []);
  t.equal(seriesOf(numberedFields([[one, other]])).length, 1);
});

for (const { names, want } of cases) {
  t.test(`${want.length} series in ${names.join(', ')}`, async (t) => t.same(series(names), want));
}

const texts: { format: FieldFormat; text: string; is: boolean }[] = [
  { format: 'json', text: '{"part1":"x","part2":"y"}', is: true },
  { format: 'json', text: '{"chunk_0":"x","chunk_1":"y"}', is: true },
  { format: 'json', text: JSON.stringify({ v: JSON.stringify({ part1: 'x', part2: 'y' }) }), is: true },
  { format: 'json', text: '{"first_half":"x","second_half":"y"}', is: true },
  { format: 'json', text: `{"${'_'.repeat(20)}first_half":"x","second_half":"y"}`, is: true },
  { format: 'json', text: `{"first_half":"x","${'a_b '.repeat(20)}":"z","second_half":"y"}`, is: true },
  { format: 'json', text: '{"second_half":"x","irst_half":"y"}', is: false },
  { format: 'form', text: 'p1=x&p2=y', is: true },
  { format: 'xml', text: '<p1>x</p1><p2>y</p2>', is: true },
  { format: 'multipart', text: 'name="p1"\r\n\r\nx\r\n--b\r\nname="p2"', is: true },
  { format: 'text', text: 'PART_1=x\nPART_2=y', is: true },
  { format: 'head', text: 'x-part-1: x\n\x1e\nx-part-2: y', is: true },
  { format: 'json', text: '{"data":"x","web":"y","sha1":"z"}', is: false },
  { format: 'json', text: '{"name":"Ann","count":12}', is: false },
  { format: 'form', text: 'name=Ann&count=12', is: false },
];

for (const { format, text, is } of texts) {
  t.test(`${is ? 'looks' : 'does not look'} closer at ${JSON.stringify(text)}`, async (t) => {
    t.equal(mayHoldSeries(Buffer.from(text), format), is);
    if (is && !text.includes('name='))
      t.ok(seriesOf(numberedFields(fieldsOf(Buffer.from(text), format))).length > 0);
  });
}
