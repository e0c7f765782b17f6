import { type Ran, run } from '../support/clients.ts';
import { type Daemon, posternCommand } from '../support/daemon.ts';
import { adminSecret } from '../support/gateway.ts';

export interface Invocation {
  readonly env?: Readonly<Record<string, string>>;
  /** Of standard input, which is empty otherwise. */
  readonly input?: string;
}

const unset = { POSTERN_URL: '', POSTERN_KEY: '', SERVICE_API_KEYS_ADMIN_SECRET: '' };

/** Runs `postern` as a shell does; variables of whoever runs the tests do not count. */
export const postern = (args: readonly string[], { env = {}, input = '' }: Invocation = {}): Promise<Ran> =>
  run(
    'sh',
    ['-c', 'printf %s "$TEST_INPUT" | "$@"', 'sh', 'env', '-u', 'TEST_INPUT', ...posternCommand(args)],
    {
      ...unset,
      ...env,
      TEST_INPUT: input,
    },
  );

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
