import type { Command } from 'commander';
import { examples } from '../src/cli/help.ts';
import { createProgram } from '../src/cli/program.ts';
import { wrapLines } from './wrap.ts';

/* Writes the reference of the command line from the commands themselves. */

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

const optionsOf = (command: Command): readonly string[] => [
  ...command.registeredArguments
    .filter((it) => it.description !== '')
    .map((it) => `- \`${it.name()}\`: ${it.description}`),
  ...command.options
    .filter((it) => !it.hidden)
    .map(({ flags, description, defaultValue }) => {
      const byDefault = typeof defaultValue === 'string' ? ` (default: \`${defaultValue}\`)` : '';
      return `- \`${flags}\`: ${description}${byDefault}`;
    }),
];

function sectionsOf(command: Command, path: string): readonly string[] {
  if (command.commands.length > 0)
    return command.commands.flatMap((it) => sectionsOf(it, `${path} ${it.name()}`));
  const usage = command.usage().replace('[options]', '').replace(/ +/g, ' ').trim();
  const list = optionsOf(command);
  const shown = examples[path.replace(/^postern /, '')] ?? [];
  return [
    `## ${path}`,
    '',
    ...(usage === '' ? [] : [`\`${path} ${usage}\`: ${command.description()}.`]),
    ...(usage === '' ? [sentence(command.description())] : []),
    ...(list.length > 0 ? ['', ...list] : []),
    ...(shown.length > 0 ? ['', '```text', ...shown, '```'] : []),
    '',
  ];
}

/** The page of all commands. */
export function commandsDocument(): string {
  const program = createProgram();
  return wrapLines(
    [
      '# Commands',
      '',
      'Every command of `postern`, with its arguments and options. This page is made by `node docs/generate.ts` from the',
      'code; [command line](cli.md) says what is true of all of them. These options may stand anywhere:',
      '',
      ...optionsOf(program),
      '',
      ...program.commands.flatMap((it) => sectionsOf(it, `postern ${it.name()}`)),
    ].join('\n'),
  );
}
