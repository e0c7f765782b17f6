import './cheap-hooks.ts';
import { rmSync } from 'node:fs';
import module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { type Ended, endedLine, filesVariable } from './ended.ts';
import { fileTests } from './file-tests.ts';

/*
 * Runs test files one after the other in one process, for run.ts: loading the program and its detectors takes seconds of the processor, and
 * most files take less. Each file is a test, which its `import t from 'tap'` leads to.
 */

// No arguments, since tap makes these a part of its folders' names.
const files: readonly string[] = JSON.parse(process.env[filesVariable] ?? '[]');
delete process.env[filesVariable];

// In memory, see run.ts. tap would leave the working folder when it removes one that is not in it, so it keeps them until the file has ended.
const folder = join(tmpdir(), String(process.pid));

const ownTap = new URL('own-tap.ts', import.meta.url).href;
module.registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL = '' } = context;
    if (specifier !== 'tap' || !fileTests.has(parentURL)) return nextResolve(specifier, context);
    const url = `${ownTap}?of=${encodeURIComponent(parentURL)}`;
    return { url, format: 'module-typescript', shortCircuit: true };
  },
});

let own: Test | undefined;
process.on('unhandledRejection', (error) => (own ?? t).fail('a rejection that nobody handled', { error }));

for (const file of files) {
  const { href } = pathToFileURL(file);
  const results = await t.test(file, async (t) => {
    own = t;
    t.testdirName = join(folder, file.replace(/[^a-zA-Z0-9._-]+/g, '-'));
    fileTests.set(href, t);
    await import(href);
  });
  const { pass = 0, fail = 0, skip = 0, todo = 0 } = own?.counts ?? {};
  const ended: Ended = { file, isPassed: results?.ok === true, pass, fail, skip: skip + todo };
  rmSync(folder, { recursive: true, force: true });
  // For the processes that begin meanwhile.
  module.flushCompileCache();
  t.comment(endedLine(ended));
}

// What the last file has left open would keep the process for ever. It is named, and the process ends.
const leftOpenMs = 20_000;
setTimeout(() => {
  console.error(`${files.at(-1)} left open: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit();
}, leftOpenMs).unref();
