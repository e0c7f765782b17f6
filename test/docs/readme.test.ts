import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { needProgram } from '../support/programs.ts';
import { root } from './blocks.ts';
import { decisionsIn, openTerminal, readmeBlocks, serveIn } from './terminal.ts';

/*
 * The commands of the README, typed one block after the other as a reader does it: into one shell for each terminal. Hosts are replaced by
 * names that lead nowhere (RFC 6761), since what is shown is decided before anything is dialled.
 */

t.test('the README does what it says, from the first start to an approval', async (t) => {
  if (!needProgram(t, 'curl')) return;
  const folder = mkdtempSync(join(tmpdir(), 'postern-readme-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['bin', 'src', 'config', 'node_modules', 'package.json'])
    symlinkSync(join(root, name), join(folder, name));
  t.match(await serveIn(openTerminal(t, folder)), /This was the first start/);

  await t.test('Try it', async (t) => {
    const [block = ''] = readmeBlocks('Try it');
    const terminal = openTerminal(t, folder);
    const output = await terminal.type(block);
    t.same(decisionsIn(output), ['ALLOW', 'SANITIZE', 'DENY']);
    t.match(output, /no-deletes is applied: version 1[\s\S]*decision +SANITIZE/);
    const looked = await terminal.type('bin/postern trace list; bin/postern usage; bin/postern audit verify');
    t.match(looked, /DENY[\s\S]*scans_used +\d[\s\S]*none altered or missing/);
  });

  await t.test('A configuration, a key and an approval of one’s own', async (t) => {
    const [configure = ''] = readmeBlocks('Your own configuration and ports');
    const [made = '', started = ''] = configure.split('bin/postern serve');
    t.equal(started.trim(), '', 'the daemon is started last');
    const operator = openTerminal(t, folder);
    t.match(await operator.type(made), /gate\/postern\.yaml is valid/);
    t.match(
      await serveIn(openTerminal(t, folder), `export POSTERN_CONFIG=$PWD/gate/postern.yaml`),
      /postern is ready/,
    );
    t.match(await operator.type('bin/postern status'), /status +ready/);
    const [give = ''] = readmeBlocks('Give an agent its own key');
    t.match(await operator.type(give), /It is \S+, of the agent/);
    const [approve = ''] = readmeBlocks('Approve a call');
    const [hold = '', allow = ''] = approve.split(/^(?=bin\/postern approval approve)/m);
    const held = await operator.type(hold);
    t.same(decisionsIn(held), ['REQUIRE_APPROVAL']);
    const [, id = ''] = /"approval_id":"([0-9a-f-]+)"/.exec(held) ?? [];
    const allowed = await operator.type(allow.replace(' ID ', ` ${id} `));
    t.match(allowed, `${id} is approved.`);
    t.same(decisionsIn(allowed), ['ALLOW']);
  });
});
