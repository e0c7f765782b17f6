import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import { blocksIn, textOf } from './blocks.ts';

/** The blocks of commands below a heading of the README, as they can be typed here. */
export function readmeBlocks(heading: string): readonly string[] {
  const [, section = ''] = textOf('README.md').split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  return blocksIn(own).map(({ text }) =>
    text
      .replaceAll('api.github.com', 'api.postern.test')
      .replaceAll('httpbin.org', 'bin.postern.test')
      .replaceAll('python3 agent.py', 'true')
      .replaceAll(/127\.0\.0\.1:1808[01]/g, '127.0.0.1:0')
      // What is not in the answer of curl is of no interest here.
      .replaceAll('curl -i', 'curl -s -i'),
  );
}

export interface Terminal {
  /** Types commands; answers what they print, in order, errors included. */
  type(commands: string): Promise<string>;
  readonly shell: ChildProcess;
}

const done = 'these-commands-are-done';

/** A shell in `cwd`, which finds the Node of `nodeFolder` first. */
export function openTerminal(t: Test, cwd: string, nodeFolder = join(process.execPath, '..')): Terminal {
  const unset = [
    'NODE_OPTIONS',
    'POSTERN_CONFIG',
    'POSTERN_URL',
    'POSTERN_KEY',
    'SERVICE_API_KEYS_ADMIN_SECRET',
  ];
  const path = `${nodeFolder}:${process.env['PATH']}`;
  const shell = spawn('env', [...unset.flatMap((name) => ['-u', name]), 'sh'], {
    cwd,
    env: { ...process.env, PATH: path },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    const ended = once(shell, 'exit');
    shell.kill('SIGKILL');
    await ended;
  });
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  shell.stdin.write('exec 2>&1\n');
  return {
    shell,
    async type(commands) {
      shell.stdin.write(`${commands}\necho; echo ${done} $?\n`);
      const said: string[] = [];
      for (;;) {
        const { value, done: isOver } = await lines.next();
        if (isOver || value.startsWith(done)) return said.join('\n');
        said.push(value);
      }
    },
  };
}

/** Starts a daemon in a terminal that is for it alone, and waits until it says what is next. */
export async function serveIn(terminal: Terminal, before = '', postern = 'bin/postern'): Promise<string> {
  const { shell } = terminal;
  shell.stdin?.write(`${before}\nexec ${postern} serve\n`);
  const said: string[] = [];
  for await (const line of createInterface({ input: shell.stdout ?? process.stdin })) {
    said.push(line);
    if (/Next:|SERVICE_API_KEYS_ADMIN_SECRET=/.test(line)) break;
  }
  return said.join('\n');
}

/** What the answers of curl say that was decided. */
export const decisionsIn = (output: string): string[] =>
  [...output.matchAll(/^x-service-decision: (\w+)/gim)].map(([, decision = '']) => decision);
