import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { loadDetectors } from '../../src/inspect/patterns/load.ts';
import { prepared, preparedFolder } from '../../src/util/prepared.ts';

const config = resolve(import.meta.dirname, '../../config');
const name = `test-${process.pid}`;
const ownFiles = (): string[] => readdirSync(preparedFolder).filter((it) => it.startsWith(`${name}-`));
t.teardown(() => {
  for (const file of ownFiles()) rmSync(join(preparedFolder, file));
});

t.test('what was made of a content is made once, and of another content anew', (t) => {
  const made: string[] = [];
  const make = (content: string) =>
    prepared(name, content, () => {
      made.push(content);
      return { text: content, numbers: Int32Array.of(1, 2), words: new Set(['a']), like: /a+/i };
    });
  const first = make('one');
  t.same(make('one'), first);
  t.same(made, ['one']);
  t.equal(make('two').text, 'two');
  t.same(made, ['one', 'two']);
  t.equal(make('one').text, 'one');
  t.same(made, ['one', 'two'], 'for a program that starts in two ways makes its tables once for each');
  for (const content of ['three', 'four', 'five', 'six']) make(content);
  t.equal(ownFiles().length, 4, 'and only the last ones are kept');
  t.end();
});

t.test('what was damaged on the disk is made anew', (t) => {
  for (const file of ownFiles()) rmSync(join(preparedFolder, file));
  prepared(name, 'three', () => ({ is: 'sound' }));
  const file = join(preparedFolder, ownFiles()[0] as string);
  const bytes = readFileSync(file);
  bytes[bytes.length - 4] = (bytes[bytes.length - 4] as number) ^ 1;
  writeFileSync(file, bytes);
  t.same(
    prepared(name, 'three', () => ({ is: 'new' })),
    { is: 'new' },
  );
  t.end();
});

t.test('detectors are the same when they were kept', (t) => {
  const detectors = join(config, 'detectors');
  const made = loadDetectors(detectors);
  t.strictSame(loadDetectors(detectors, name), made);
  t.strictSame(loadDetectors(detectors, name), made);
  t.end();
});
