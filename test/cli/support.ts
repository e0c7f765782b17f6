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
