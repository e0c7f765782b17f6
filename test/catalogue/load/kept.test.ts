import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { CatalogueError } from '../../../src/catalogue/catalogue.ts';
import { openTables, readTools } from '../../../src/catalogue/load/load.ts';
import { preparedFolder } from '../../../src/util/prepared.ts';
import { requestOf } from '../support.ts';

const dir = join(import.meta.dirname, '../../../config/tools');
const name = `test-tools-${process.pid}`;
const ownFiles = (): string[] => readdirSync(preparedFolder).filter((it) => it.startsWith(`${name}-`));
t.teardown(() => {
  for (const file of ownFiles()) rmSync(join(preparedFolder, file));
});

t.test('tools that were kept are those of their files', async (t) => {
  const made = openTables(dir).catalogue();
  openTables(dir, name);
  const [file] = ownFiles();
  const bytes = readFileSync(join(preparedFolder, file as string));
  const kept = openTables(dir, name).catalogue();
  t.strictSame(ownFiles(), [file]);
  t.ok(bytes.equals(readFileSync(join(preparedFolder, file as string))), 'and were not made again');
  for (const [index, tool] of kept.tools.entries()) t.strictSame({ ...tool }, { ...made.tools[index] });
  for (const { method, url, headers, body } of readTools(dir, [], true).flatMap((it) => it.examples)) {
    const request = requestOf(method, url, headers, body);
    const { host, path } = request.target;
    const told = (catalogue: typeof kept) => [
      catalogue.understand(request),
      catalogue.bodyLimits.at(host, path),
    ];
    if (!isDeepStrictEqual(told(kept), told(made))) t.strictSame(told(kept), told(made), `${method} ${url}`);
  }
});

t.test('what an operator adds to a kept tool is checked with all of it', async (t) => {
  const tables = openTables(dir, name);
  const addition = (verb: string) => ({
    ...{ name: 'slack', title: 'Slack', hosts: ['slack.test.example'] },
    operations: { messages: { post_message: { verb, call: 'POST /own' } } },
  });
  const own = tables.catalogue([addition('WRITE')]);
  const at = (url: string) => own.understand(requestOf('POST', url, {}, undefined)).name;
  t.equal(at('https://slack.test.example/own'), 'post_message');
  t.equal(at('https://slack.com/api/chat.postMessage'), 'post_message');
  t.throws(() => tables.catalogue([addition('READ')]), /slack: post_message is both READ and WRITE/);
});

t.test('tools with mistakes are never kept', async (t) => {
  const folder = t.testdir({
    'demo.yaml': `name: demo\ntitle: Demo\nhosts: [demo.example]\noperations:\n  a:\n    x: { verb: READ, rpc: X }\n`,
  });
  const before = ownFiles();
  for (let times = 0; times < 2; times++)
    t.throws(() => openTables(folder, name).catalogue(), CatalogueError);
  t.strictSame(ownFiles(), before);
});
