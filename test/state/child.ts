import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';

/** A process of its own that uses the state, says what was acknowledged, and can be killed at any moment. */
export interface Child {
  /** The first line, said already or to come, that `matches`. */
  line(matches: (line: string) => boolean): Promise<string>;
  /** All lines so far; after `kill`, all that there are. */
  lines(): readonly string[];
  say(text: string): void;
  kill(): Promise<void>;
}

export function startChild(
  t: Test,
  script: string,
  dir: string,
  { fileBlocksMax, args: more = [] }: { fileBlocksMax?: number; args?: readonly string[] } = {},
): Child {
  const command = [process.execPath, new URL(`children/${script}`, import.meta.url).pathname, dir, ...more];
  // Without what tap loads into children: its handler for SIGXFSZ would end this one, where Node lets the write fail.
  const limited = ['-c', `unset NODE_OPTIONS; ulimit -f ${fileBlocksMax}; exec "$0" "$@"`, ...command];
  const [file = '', ...args] = fileBlocksMax === undefined ? command : ['sh', ...limited];
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const said: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => said.push(line));
  let hasEnded = false;
  const ended = Promise.all([once(child, 'close'), once(reader, 'close')]).then(() => {
    hasEnded = true;
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.teardown(kill);

  return {
    async line(matches) {
      for (;;) {
        const found = said.find(matches);
        if (found !== undefined) return found;
        if (hasEnded)
          throw new Error(`${script} ended (${child.exitCode ?? child.signalCode}) without that line`);
        await Promise.race([once(reader, 'line'), ended]);
      }
    },
    lines: () => said,
    say: (text) => void child.stdin.write(`${text}\n`),
    kill,
  };
}
