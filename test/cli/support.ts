import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startGateway } from '../../src/daemon/gateway.ts';
import { type Ran, run } from '../support/clients.ts';
import type { CommandRequest } from '../support/command-process.ts';
import { type Daemon, posternCommand } from '../support/daemon.ts';
import { adminSecret } from '../support/gateway.ts';

export interface Invocation {
  readonly env?: Readonly<Record<string, string>>;
  /** Of standard input, which is empty otherwise. */
  readonly input?: string;
}

const unset = { POSTERN_URL: '', POSTERN_KEY: '', SERVICE_API_KEYS_ADMIN_SECRET: '' };

/** Runs `postern` as a shell does, in a process of its own; variables of whoever runs the tests do not count. */
export const posternProcess = (
  args: readonly string[],
  { env = {}, input = '' }: Invocation = {},
): Promise<Ran> =>
  run(
    'sh',
    ['-c', 'printf %s "$TEST_INPUT" | "$@"', 'sh', 'env', '-u', 'TEST_INPUT', ...posternCommand(args)],
    {
      ...unset,
      ...env,
      TEST_INPUT: input,
    },
  );

/** Processes that have loaded the program and wait for a command. */
const idle: ChildProcess[] = [];

function startProcess(): ChildProcess {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const started = fork(join(import.meta.dirname, '../support/command-process.ts'), { env, execArgv: [] });
  // Once it waits, it keeps no test alive.
  started.unref();
  return started;
}

/**
 * Runs a command of `postern` by the program's own entry, in a process that has loaded it already: half a second less. Commands that become
 * another program, `serve` and `run`, have a process of their own.
 */
export async function postern(args: readonly string[], invocation: Invocation = {}): Promise<Ran> {
  if (args.includes('serve') || args.includes('run')) return posternProcess(args, invocation);
  const { env = {}, input = '' } = invocation;
  const { NODE_OPTIONS: _, POSTERN_CONFIG: __, ...own } = process.env;
  const child = idle.pop() ?? startProcess();
  child.channel?.ref();
  child.send({ args, input, env: { ...own, ...unset, ...env } } satisfies CommandRequest);
  const settled = new AbortController();
  const { signal } = settled;
  const exited = once(child, 'exit', { signal }).then(([code]) =>
    Promise.reject(new Error(`the commands' process ended with ${code}`)),
  );
  const [answer] = await Promise.race([once(child, 'message', { signal }), exited]).finally(() =>
    settled.abort(),
  );
  child.channel?.unref();
  idle.push(child);
  return answer as Ran;
}

/** A daemon in this process, for commands that are told its URL: a second of the processor less. It ends with the test. */
export async function startHere(
  t: { teardown(close: () => void | Promise<void>): void },
  configFile: string,
): Promise<Pick<Daemon, 'controlUrl' | 'proxyUrl' | 'caFile'>> {
  const gateway = await startGateway(configFile, {});
  t.teardown(() => gateway.stop(1000));
  return gateway;
}

/** `postern` as the operator of a daemon, who has the admin secret. */
export const operatorOf =
  ({ controlUrl }: Pick<Daemon, 'controlUrl'>) =>
  (args: readonly string[], { env = {}, input = '' }: Invocation = {}): Promise<Ran> =>
    postern(args, {
      env: { POSTERN_URL: controlUrl, SERVICE_API_KEYS_ADMIN_SECRET: adminSecret, ...env },
      input,
    });

/**
 * A program of Python: runs a command in a terminal of 60 columns, types its second argument when the terminal shows the first, and prints
 * all that it shows.
 */
export const terminalProgram = `
import fcntl, os, pty, select, struct, sys, termios
awaited, typed = sys.argv[1].encode(), sys.argv[2].encode()
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[3], sys.argv[3:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 60, 0, 0))
shown = b''
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
    if typed and awaited in shown:
        os.write(fd, typed)
        typed = b''
sys.stdout.buffer.write(shown)
os.waitpid(pid, 0)
`;
