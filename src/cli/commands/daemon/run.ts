import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Command } from 'commander';
import type { Gateway } from '../../../daemon/gateway.ts';
import { NoAddressError } from '../../connection/addresses.ts';
import type { CommonOptions } from '../../connection/client.ts';
import type { WayOut } from '../../connection/way-out.ts';
import { note } from '../../output.ts';
import { ownEnvironment } from '../../programs/own-environment.ts';

type Variables = WayOut['variables'];

/** Adds `postern run -- CMD`, for a program whose calls pass a gateway, which is started if none runs. */
export function addRun(program: Command): void {
  program
    .command('run')
    .description('run a command whose calls leave through the gateway')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('--quiet', 'say nothing of the calls at the end')
    .action(async (command: string[], { quiet }: { quiet?: boolean }) => {
      const options = program.opts<CommonOptions>();
      const standing = await standingWay(options);
      const gateway = standing ? undefined : await startOwn(options.config);
      try {
        const { way, end } = standing ?? (await wayThrough(gateway, options));
        try {
          process.exitCode = await runWithKey(command, way, quiet ?? false);
        } finally {
          await end();
        }
      } finally {
        await gateway?.stop();
      }
    });
}

const ownKey =
  'postern: the program gets the key of this shell. For a key of its own that ends with each run, and a count of its calls, make one by "postern key mint --permission scan --permission keys:ephemeral --permission keys:revoke --permission activity:read".';

type Way = Pick<WayOut, 'url' | 'key' | 'variables'>;

interface Reached {
  readonly way: Way;
  /** Revokes the key that was made for the way, where one was. */
  end(): Promise<void>;
}

const nothingToEnd = async (): Promise<void> => undefined;

/** Runs the command with a key of its own, if the shell's key may make one, and sums its calls up. */
async function runWithKey(command: readonly string[], way: Way, isQuiet: boolean): Promise<number> {
  const { openChildKey } = await import('../../programs/child-key.ts');
  const { openPrograms } = await import('../../programs/programs.ts');
  const child = await openChildKey(way, command[0] ?? '');
  if (!child && way.key !== '' && !isQuiet) note(ownKey);
  const variables = child ? withKey(way, child.text) : way.variables;
  const programs = await openPrograms({ variables });
  try {
    return await runCommand(command, { ...variables, ...programs.variables });
  } finally {
    programs.close();
    const report = await child?.end();
    if (report !== undefined && !isQuiet) note(`postern: ${report}`);
  }
}

/** Returns the variables of the way with another key. */
const withKey = ({ key, variables }: Way, child: string): Variables =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, value.replace(key, () => child)]),
  );

async function startOwn(config: string | undefined): Promise<Gateway> {
  const { startGateway } = await import('../../../daemon/gateway.ts');
  return startGateway(config, process.env);
}

/** Returns the way through the daemon that runs already; undefined where none does. */
async function standingWay(options: CommonOptions): Promise<Reached | undefined> {
  const { NoKeyError, stands, toldWay, wayOfShell } = await import('../../connection/way-out.ts');
  const { isAnswering } = await import('../../connection/client.ts');
  const { wayWithKey } = await import('../../programs/minted-key.ts');
  const ofShell = options.config === undefined && options.url === undefined ? wayOfShell() : undefined;
  if (ofShell) {
    if (await stands(ofShell)) return { way: ofShell, end: nothingToEnd };
    // A gateway of this folder, or a new one, would judge by other rules than the one that was meant.
    if ((await toldWay(options))?.url === ofShell.url) return undefined;
    throw new Error(
      `the daemon that this shell names, ${ofShell.url}, does not answer: start it, or unset POSTERN_URL, POSTERN_KEY and POSTERN_CA for a gate of this folder.`,
    );
  }
  const { way, end } = await wayWithKey(options).catch(async (error: unknown) => {
    // A daemon may be started now. Nobody can know a free port beforehand, and that daemon may have a secret
    // to make a key with.
    const mayStart = error instanceof NoKeyError && !(await isAnswering(options).catch(() => true));
    if (error instanceof NoAddressError || mayStart) return { way: undefined, end: nothingToEnd };
    throw error;
  });
  if (way && (await stands(way))) return { way, end };
  await end();
  const named = options.url ?? process.env['POSTERN_URL'];
  // A second gateway beside the one that was meant would judge by other rules.
  if (named && named !== way?.url && (await isAnswering({ url: named })))
    throw new Error(
      'a daemon answers there, and nothing says where its proxy is: name its configuration with --config, or export what "postern env" prints beside it.',
    );
  return undefined;
}

/** Returns the way through the daemon that was started for this command. */
async function wayThrough(gateway: Gateway | undefined, options: CommonOptions): Promise<Reached> {
  const { variablesFor } = await import('../../connection/way-out.ts');
  const key = gateway?.firstStart?.keyText;
  if (!gateway || !key) {
    const { wayWithKey } = await import('../../programs/minted-key.ts');
    const { way, end } = await wayWithKey(options);
    if (way) return { way, end };
    const { noKey } = await import('../../connection/remedies.ts');
    throw new Error(noKey('the command', options.config));
  }
  const { controlUrl: url, proxyUrl: proxy, caFile: ca } = gateway;
  return { way: { url, key, variables: variablesFor({ url, proxy, key, ca }) }, end: nothingToEnd };
}

function whyNot({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'there is no such program';
  return code === 'EACCES' ? 'it is no program, or you may not run it' : message;
}

/** Runs a command to its end. Returns its exit code, or 128 plus the signal's number as shells do. */
function runCommand([name = '', ...args]: readonly string[], variables: Variables): Promise<number> {
  return new Promise((done, failed) => {
    // The command gets the key that it calls with.
    const child = spawn(name, args, { stdio: 'inherit', env: { ...ownEnvironment(), ...variables } });
    child.once('error', (error) => failed(new Error(`cannot run ${name}: ${whyNot(error)}`)));
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => child.kill(signal));
  });
}
