import { type Command, CommanderError } from 'commander';
import t from 'tap';
import { createProgram } from '../../src/cli/program.ts';
import { blocksIn, pages, posternLines, textOf } from './blocks.ts';

/*
 * The commands of the documents: all of them are understood by the command line. What can be typed here is typed by
 * test/sdk/package.test.ts, with the program as users have it.
 */

t.test('every command line of the documents is understood', async (t) => {
  let lines = 0;
  for (const page of pages)
    for (const line of posternLines(textOf(page))) {
      lines += 1;
      const problem = await problemWith(line);
      t.equal(problem, undefined, `${page}: ${line}`);
    }
  t.ok(lines > 100, `${lines} were found`);
});

/** What the command line says against it; undefined: nothing. */
async function problemWith(line: string): Promise<string | undefined> {
  const program = createProgram();
  const disarm = (command: Command): void => {
    command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
    command.action(() => undefined);
    for (const it of command.commands) disarm(it);
  };
  for (const it of program.commands) disarm(it);
  program.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  const spoken = line.replace(/ +>.*$/, '');
  const [, ...words] = [...spoken.matchAll(/(?:"(?:\\.|[^"])*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replaceAll(/["']/g, ''),
  );
  // What stands around words that may be left out, and for further ones.
  const typed = words.map((it) => it.replaceAll(/[[\]]|…$/g, ''));
  try {
    await program.parseAsync(typed, { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) return String(error);
    // A text may name a command without its arguments; one that is typed has them, since it is run.
    return error.exitCode === 0 || error.code === 'commander.missingArgument' ? undefined : String(error);
  }
}

t.test('what is typed is fenced as such', async (t) => {
  for (const page of pages) {
    const fences = [...textOf(page).matchAll(/^ *```(\w*)\n[\s\S]*?^ *```$/gm)].map(([, name = '']) => name);
    t.same(
      fences.filter((it) => !['sh', 'yaml', 'ts', 'js', 'python', 'http', 'text', ''].includes(it)),
      [],
      `${page}: commands are fenced as sh`,
    );
  }
});

t.test('the quick start types what the README types', async (t) => {
  const typed = textOf('README.md');
  const lines = blocksIn(textOf('docs/quick-start.md')).flatMap(({ text }) => text.trim().split('\n'));
  t.ok(lines.length > 10);
  for (const line of lines) t.ok(typed.includes(line), line);
});
