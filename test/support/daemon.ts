import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

/** `bin/postern` as users start it: another process, real signals. */
export interface Daemon {
  readonly process: ChildProcess;
  readonly proxyUrl: string;
  readonly controlUrl: string;
  readonly caFile: string;
  /** What it logged so far, parsed. */
  readonly log: readonly Record<string, unknown>[];
  /** Resolves with the next log line whose message is this one. */
  logged(message: string): Promise<Record<string, unknown>>;
  /** Sends the signal and waits for the end; answers the exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

interface Test {
  teardown(close: () => void | Promise<void>): void;
}

const root = resolve(import.meta.dirname, '../..');
const ownPostern = join(root, 'bin/postern');

/**
 * A program of a test lives for seconds, and a third of the processor's time would go into the last tier of compiled code. What it does is
 * the same without that tier, which the tests of the package and of the documents leave on.
 */
const withoutLastTier = '--no-turbofan';

/** Arguments of `env` that run `bin/postern` as a user's shell would: without the loaders that the test runner gives its children. */
export const posternCommand = (
  args: readonly string[],
  nodeArgs: readonly string[] = [],
  postern = ownPostern,
): string[] => [
  '-u',
  'NODE_OPTIONS',
  '-u',
  'POSTERN_CONFIG',
  process.execPath,
  withoutLastTier,
  ...nodeArgs,
  postern,
  ...args,
];

/** Starts `postern serve --json` in `cwd` and waits for its ready line. It ends with the test. `nodeArgs` are Node's own, `postern` another program. */
export async function startDaemon(
  t: Test,
  cwd: string,
  args: readonly string[] = [],
  nodeArgs: readonly string[] = [],
  postern = ownPostern,
): Promise<Daemon> {
  const child = spawn('env', posternCommand([...args, '--json', 'serve'], nodeArgs, postern), {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const log: Record<string, unknown>[] = [];
  const waiting: { message: string; found: (line: Record<string, unknown>) => void }[] = [];
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on('line', (text) => {
    errors.push(text);
    if (!text.startsWith('{')) return;
    const line: Record<string, unknown> = JSON.parse(text);
    log.push(line);
    for (const it of waiting.splice(0)) {
      if (it.message === line['msg']) it.found(line);
      else waiting.push(it);
    }
  });
  const ready = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([line]) => JSON.parse(String(line))),
    exited.then(() => Promise.reject(new Error(`the daemon did not start: ${errors.join('\n')}`))),
  ]);
  return {
    process: child,
    proxyUrl: ready.proxy,
    controlUrl: ready.control,
    caFile: ready.ca,
    log,
    logged: (message) => new Promise((found) => waiting.push({ message, found })),
    async end(signal) {
      child.kill(signal);
      const [code, by] = await exited;
      return code ?? by;
    },
  };
}
