import { type Command, Option } from 'commander';
import { print } from '../../output.ts';

/*
 * Describes the commands to shells and to `man`. The descriptions are made of the commands themselves, so
 * that they are never behind them.
 */

interface Described {
  /** Names of the command and of its groups, with spaces between; '' for the program itself. */
  readonly path: string;
  readonly words: readonly string[];
}

/** Returns every command with the words that may follow it. */
function describeAll(program: Command): readonly Described[] {
  const global = program.options.map((it) => it.long ?? '');
  const describe = (command: Command, path: string): Described[] => {
    const parts = command.commands.map((it) => it.name());
    const options = [...command.options.map((it) => it.long ?? ''), ...global, '--help'];
    return [
      { path, words: [...new Set([...parts, ...options])].filter((it) => it !== '') },
      ...command.commands.flatMap((it) => describe(it, path === '' ? it.name() : `${path} ${it.name()}`)),
    ];
  };
  return describe(program, '');
}

/** Returns the completion for bash. Nothing must be quoted: words of commands are letters and `-` alone. */
const bash = (program: Command): string => `# postern completion for bash: source <(postern completion bash)
_postern() {
  local path="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${describeAll(program)
  .map(
    ({ path, words }) =>
      `    "${path}") COMPREPLY=($(compgen -W "${words.join(' ')}" -- "\${COMP_WORDS[COMP_CWORD]}")) ;;`,
  )
  .join('\n')}
    *) COMPREPLY=() ;;
  esac
}
complete -o default -F _postern postern
`;

const zsh = (program: Command): string =>
  `#compdef postern\nautoload -U +X bashcompinit && bashcompinit\n${bash(program)}`;

const fish = (program: Command): string =>
  [
    '# postern completion for fish: postern completion fish | source',
    ...describeAll(program).flatMap(({ path, words }) => {
      const seen =
        path === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${path.split(' ').at(-1)}`;
      return words.map((it) =>
        it.startsWith('--')
          ? `complete -c postern -n '${seen}' -l ${it.slice(2)}`
          : `complete -c postern -f -n '${seen}' -a ${it}`,
      );
    }),
    '',
  ].join('\n');

const scripts = { bash, zsh, fish } as const;

/** Adds `postern completion SHELL`, which prints a script that completes commands and options. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion of a shell: source <(postern completion bash)')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell: string, _options: unknown, completion: Command) => {
      const script = Object.entries(scripts).find(([name]) => name === shell)?.[1];
      if (!script) return completion.error('error: the shell must be bash, zsh or fish', { exitCode: 2 });
      await print(script(program));
    });
}

/** Escapes a text for `man`. A line that begins with a full stop or an apostrophe would be an order to it. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&');

/** Adds `postern man`, which prints the manual page, for `man -l -` or a folder of manual pages. */
export function addMan(program: Command): void {
  program
    .command('man')
    .description('print the manual page: postern man | man -l -')
    .addOption(new Option('--section <n>', 'of the manual').default('1').hideHelp())
    .action(async () => print(manualPage(program)));
}

function manualPage(program: Command): string {
  const section = (command: Command, path: string): string[] => [
    `.SS "${roff(`${path} ${command.usage()}`)}"`,
    roff(command.description()),
    ...command.options.flatMap((it) => ['.TP', `.B ${roff(it.flags)}`, roff(it.description)]),
    ...command.commands.flatMap((it) => section(it, `${path} ${it.name()}`)),
  ];
  return [
    `.TH POSTERN 1 "" "Postern ${program.version() ?? ''}"`,
    '.SH NAME',
    `postern \\- ${roff(program.description())}`,
    '.SH SYNOPSIS',
    '.B postern',
    '[options] command',
    '.SH OPTIONS',
    ...program.options.flatMap((it) => ['.TP', `.B ${roff(it.flags)}`, roff(it.description)]),
    '.SH COMMANDS',
    ...program.commands.flatMap((it) => section(it, it.name())),
    '.SH EXIT STATUS',
    '0 done, 1 refused or failed, 2 wrong usage, 3 something differs or was found.',
    '',
  ].join('\n');
}
