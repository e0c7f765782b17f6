import { Readable } from 'node:stream';
import { main } from '../../src/cli/main.ts';

/*
 * Runs commands of `postern` one after the other, as many as its parent asks for. Each finds the arguments, variables and standard input that
 * it was given, as in a process of its own; loading the program, which most of a command's time goes to, is done once.
 */

export interface CommandRequest {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly input: string;
}

interface CommandAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Output = Record<'stdout' | 'stderr', string[]>;

/** Takes what is written to the stream, for as long as this process lives. */
function take(name: 'stdout' | 'stderr', output: Output): void {
  process[name].write = ((chunk: string | Uint8Array, ...more: unknown[]) => {
    output[name].push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    const done = more.at(-1);
    if (typeof done === 'function') process.nextTick(done as () => void);
    return true;
  }) as typeof process.stdout.write;
}

const output: Output = { stdout: [], stderr: [] };
take('stdout', output);
take('stderr', output);
const exit = process.exit.bind(process);
process.once('disconnect', () => exit());
// A command that has failed ends its process some seconds later, whatever it has left open.
process.exit = (() => undefined) as typeof process.exit;

process.on('message', async ({ args, env, input }: CommandRequest) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
  output.stdout = [];
  output.stderr = [];
  process.exitCode = undefined;
  await main([process.execPath, 'postern', ...args]);
  const code = Number(process.exitCode ?? 0);
  process.send?.({
    code,
    stdout: output.stdout.join(''),
    stderr: output.stderr.join(''),
  } satisfies CommandAnswer);
});
