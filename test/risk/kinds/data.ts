import { type Desk, type Kind, pauseMs, type Routine, type Step } from '../agent.ts';
import { prose } from '../texts.ts';

/* Agents that move and ask data: large bodies, few hosts, and a batch every night. */

const lake = (bucket: string): string => `https://${bucket}.s3.eu-west-1.amazonaws.com`;
const warehouse = 'https://warehouse.corp.acme.example/query';
const bigQuery = 'https://bigquery.googleapis.com/bigquery/v2/projects/acme-dw';
const tables = ['orders', 'visits', 'stock', 'prices'];

const rowsOf = ({ random }: Desk): object[] =>
  Array.from({ length: Math.ceil(random.logNormal(20, 0.5)) }, () => ({
    json: {
      day: `2026-05-${random.integer(10, 30)}`,
      sku: random.text('ABCDEFGHJK', 6),
      units: random.integer(1, 400),
    },
  }));

const load = (desk: Desk, afterMs: number): Step => ({
  afterMs,
  method: 'POST',
  url: `${bigQuery}/datasets/sales/tables/${desk.random.pick(tables)}/insertAll`,
  body: { rows: rowsOf(desk) },
});

const readObject = ({ random, places }: Desk, afterMs: number): Step => ({
  afterMs,
  method: 'GET',
  url: `${lake(random.pick(places))}/daily/2026-05-${random.integer(10, 30)}/part-${random.integer(0, 9)}.parquet`,
});

const ask: Routine = ({ random }) => {
  const table = random.pick(tables);
  const sql = `SELECT day, sum(units) FROM sales.${table} WHERE sku LIKE '${random.text('ABCDEFGHJK', 2)}%' GROUP BY day -- ${prose(random, random.logNormal(80, 0.6))}`;
  return Array.from({ length: random.integer(1, 3) }, (_, at) => ({
    afterMs: at === 0 ? 0 : pauseMs(random) * 2,
    method: 'POST',
    url: random.chance(0.6) ? warehouse : `${bigQuery}/queries`,
    body: { query: sql, useLegacySql: false },
  }));
};

const move: Routine = (desk) => [
  { afterMs: 0, method: 'GET', url: `${lake(desk.random.pick(desk.places))}/?list-type=2&prefix=daily/` },
  ...Array.from({ length: desk.random.integer(1, 3) }, () => readObject(desk, pauseMs(desk.random))),
  load(desk, pauseMs(desk.random)),
];

const nightly: Routine = (desk) => {
  const { random, places } = desk;
  const parts = Array.from({ length: random.integer(4, 6) }, () => [
    readObject(desk, random.integer(9_000, 14_000)),
    load(desk, random.integer(12_000, 18_000)),
  ]);
  const report = `day,rows\n${Array.from({ length: 40 }, (_, day) => `${day},${random.integer(100, 9999)}`).join('\n')}`;
  return [
    { afterMs: 0, method: 'GET', url: `${lake(places[0] ?? '')}/?list-type=2&prefix=daily/` },
    ...parts.flat(),
    {
      afterMs: pauseMs(random),
      method: 'PUT',
      url: `${lake(places[0] ?? '')}/reports/nightly.csv`,
      body: report,
    },
  ];
};

export const data: Kind = {
  runtimeType: 'langgraph',
  places: ['acme-lake', 'acme-events', 'acme-exports', 'acme-archive'],
  tokens: [],
  routines: [
    [4, ask],
    [3, move],
  ],
  daily: nightly,
};
