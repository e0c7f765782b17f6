import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import t from 'tap';

/**
 * From the ground up: a module imports from its own folder and from the rows above its own. Folders of one row do not know each
 * other. This is the architecture; everything else is detail.
 */
const rows: readonly (readonly string[])[] = [
  ['util'],
  ['bundle', 'core'],
  ['wire'],
  ['catalogue', 'inspect', 'state'],
  ['policy'],
  ['risk'],
  ['config'],
  ['notify', 'tenants'],
  ['credentials'],
  ['decision'],
  ['response'],
  ['proxy', 'api'],
  ['console'],
  ['daemon'],
  ['cli'],
];

/** Rooms within big folders, from the ground up in the same way; `.` are the files that stand in none of them. */
const innerRows: Readonly<Record<string, readonly (readonly string[])[]>> = {
  wire: [
    ['grpc', 'http1', 'tls', 'websocket'],
    ['client', 'server'],
  ],
  notify: [['.'], ['siem'], ['channels']],
  credentials: [['aws'], ['.']],
  inspect: [
    ['kernel'],
    ['checks', 'decode'],
    ['patterns'],
    ['match', 'intent'],
    ['injection', 'redact'],
    ['fingerprint', 'parts'],
    ['split'],
    ['segments'],
    ['.'],
    ['boundary'],
    ['threads'],
  ],
};

/** Runs where no gateway is: it imports nothing of the gateway, and nothing of the runtime; nobody imports it. */
const alone = 'sdk';
/** Makes the program that runs, so nobody imports it. */
const bundler = 'bundle';

const source = resolve(import.meta.dirname, '../src');
const rowOf = (place: string): number => rows.findIndex((row) => row.includes(place));
const placeOf = (file: string): string => relative(source, file).split(sep)[0] ?? '';

/** What a module imports, types included: a type is knowledge too. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/^(?:import|export)\b[^'"]*?from\s+['"](\.[^'"]+)['"]/gm)].map((it) =>
    resolve(dirname(file), it[1] ?? ''),
  );
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join(source, name));

t.test('every module has its row', async (t) => {
  t.ok(files.length > 40, 'the sources are found');
  for (const file of files.filter((it) => placeOf(it) !== alone))
    t.not(rowOf(placeOf(file)), -1, `${relative(source, file)} stands in a folder that has a row`);
});

t.test('imports point upwards only', async (t) => {
  for (const file of files) {
    const own = placeOf(file);
    for (const imported of importsOf(file)) {
      const place = placeOf(imported);
      t.ok(
        place === own || (place !== alone && own !== alone && place !== bundler && rowOf(place) < rowOf(own)),
        `${relative(source, file)} may import ${relative(source, imported)}`,
      );
    }
  }
});

for (const [folder, innerRowsOf] of Object.entries(innerRows)) {
  t.test(`within ${folder}, imports point upwards only`, async (t) => {
    const room = join(source, folder);
    const roomOf = (file: string): string => {
      const [first = '', ...rest] = relative(room, file).split(sep);
      return rest.length > 0 ? first : '.';
    };
    const innerRowOf = (place: string): number => innerRowsOf.findIndex((row) => row.includes(place));
    const own = files.filter((it) => it.startsWith(room + sep) && !it.includes(`${sep}assembly${sep}`));
    t.ok(own.length > 10, 'its files are found');
    for (const file of own) {
      const place = roomOf(file);
      t.not(innerRowOf(place), -1, `${relative(source, file)} stands in a room that has a row`);
      for (const imported of importsOf(file).filter((it) => it.startsWith(room + sep))) {
        const other = roomOf(imported);
        t.ok(
          other === place || innerRowOf(other) < innerRowOf(place),
          `${relative(source, file)} may import ${relative(source, imported)}`,
        );
      }
    }
  });
}

t.test('no imports go in a circle', async (t) => {
  const state = new Map<string, 'open' | 'done'>();
  const walk = (file: string, way: readonly string[]): void => {
    if (state.get(file) === 'done') return;
    const begun = way.indexOf(file);
    if (state.get(file) === 'open') {
      const circle = [...way.slice(begun), file].map((it) => relative(source, it));
      t.fail(`${circle.join(' -> ')} is no circle`);
      return;
    }
    state.set(file, 'open');
    for (const imported of importsOf(file).filter((it) => files.includes(it))) walk(imported, [...way, file]);
    state.set(file, 'done');
  };
  for (const file of files) walk(file, []);
  t.equal(state.size >= files.length, true, 'all files were walked through');
});

t.test('what agents use stands alone', async (t) => {
  const own = files.filter((it) => placeOf(it) === alone);
  t.ok(own.length > 5, 'its files are found');
  for (const file of own) {
    const named = [...readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g)];
    for (const [, name = ''] of named) t.match(name, /^\.\//, `${relative(source, file)} may import ${name}`);
  }
});

t.test('the check sees the imports that it is about', async (t) => {
  const seen = files.flatMap(importsOf);
  t.ok(seen.length > 100, 'relative imports are found');
  t.ok(
    seen.some((it) => it === join(source, 'core/call.ts')),
    'also those of types',
  );
});
