import type { Command } from 'commander';

/* Completes the help of commands, so that each ends with the same facts and leads to its parts alike. */

const everywhere = `
Everywhere: --json, --wide, --url <url>, --config <file>; "postern --help" explains them.`;

const exitCodes = `
Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 something differs or was found (with --exit-code).`;

/** Examples of command lines, by the command that they show. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  postern: [
    'postern serve                      start the daemon',
    'postern run -- python3 agent.py    run a program whose calls leave through it',
    'postern trace tail                 watch calls as they come in',
    'postern approval list --status pending',
  ],
  'key mint': [
    'export POSTERN_KEY=$(postern key mint --name ci)',
    'postern key mint --name support-bot --expires 30d --permission scan',
  ],
  'trace list': [
    'postern trace list --from 1h --decision DENY',
    'postern trace list --agent 5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11 --from 2030-01-31',
  ],
  'trace export': ['postern trace export --from 1d --format csv > yesterday.csv'],
  run: ['postern run -- npm test', 'postern --config postern.yaml run -- python3 agent.py'],
  env: ['eval "$(postern env)"', 'postern env --shell fish | source'],
  init: ['postern init', 'postern init /etc/postern --listen 0.0.0.0:8080'],
  doctor: ['postern doctor', 'postern doctor --prove    # where agents run'],
  backup: ['postern backup /var/backups/postern-2030-01-31'],
  'ca rotate': ['postern ca rotate', 'postern ca rotate --switch', 'postern ca rotate --finish'],
  'policy apply': ['postern policy apply policies/*.yaml --dry-run', 'postern policy apply policies/*.yaml'],
  explain: ['postern explain POST https://api.stripe.com/v1/refunds amount=5000'],
  'approval approve': ['postern approval approve 3f2a --note "agreed with Ana"'],
};

/** Gives commands examples and exit codes, and gives `help` a way to commands in groups. */
export function completeHelp(program: Command): void {
  const nameOf = (command: Command): string =>
    command.parent && command.parent !== program
      ? `${nameOf(command.parent)} ${command.name()}`
      : command.name();
  const complete = (command: Command): void => {
    const shown = examples[nameOf(command)];
    if (shown)
      command.addHelpText(
        'after',
        `\nExamples:\n${shown
          .map((it) => `  ${it}\n`)
          .join('')
          .trimEnd()}`,
      );
    if (command.commands.length === 0) command.addHelpText('after', everywhere);
    if (command.commands.length === 0 || command === program) command.addHelpText('after', exitCodes);
    for (const part of command.commands) complete(part);
  };
  complete(program);
  program.helpCommand(false);
  program
    .command('help')
    .description('show the help of a command, as "postern help key mint"')
    .argument('[command...]')
    .action((names: readonly string[]) => {
      const at = names.reduce(partOf, program);
      at.help();
    });
}

/** Returns a part of a command by its name. Throws a mistake in usage where there is none. */
function partOf(command: Command, name: string): Command {
  const part = command.commands.find((it) => it.name() === name || it.aliases().includes(name));
  // The parser of the command says that there is none, and what was probably meant.
  return part ?? command.parse([name], { from: 'user' });
}
