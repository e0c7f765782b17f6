import type { Meaning } from '../../core/call.ts';

/*
 * Takes off what a POSIX shell takes off before it runs a command (POSIX.1-2024, Shell Command Language, 2.2
 * and 2.6; `$'…'` since that edition), and what bash does. `r\m`, `r""m`, `{rm,}`, `` `echo rm` ``, `$'\162m'`,
 * `rm${IFS:0:1}-rf`, `$(echo $(printf %s rm))`, `v=IFS; rm${!v}-rf` and `x=rm; $x` all run `rm`, and no list of words
 * finds them.
 */

/** Bound on the characters that are read. */
const readMax = 16 * 1024;
/** Bounds on the variables that a text sets, and on the characters of a value. */
const variablesMax = 32;
const valueMax = 64;

/** Matches what every disguise has; nearly no text of people or of data formats does. */
const disguise =
  /\\[a-z\n]|`(?:(?:echo|printf) )?[\w./-]{0,64}`|\{[\w./-]{0,64},[\w./,-]{0,64}\}|\$(?:['{(@*\d]|[A-Za-z_])|\/s?bin\/\w|\w(?:""|'')|(?:""|'')\w|\w["'^]\w|[?\]]\/\w|\/\w{0,16}[?[]/i;
const ansiQuoted = /\$'((?:[^'\\]|\\[\s\S]){0,256})'/g;
const ansiEscape = /\\(?:x([\da-fA-F]{1,2})|(?:u|U0{4})([\da-fA-F]{1,4})|([0-7]{1,3}))/g;
const assignment =
  /(?:^|[\s;&|("'])([A-Za-z_]\w{0,64})(\+?)=(?:"([^"\n]{0,256})"|'([^'\n]{0,256})'|([^\s;&|"']{0,256}))/g;
/** Matches `$x`, `${x}`, `${!x}`, and `${x…}` with a part, a default or a pattern behind the name. */
const expansion =
  /\$(?:\{(!?)([A-Za-z_]\w{0,64}|[@*\d])([:#%/^,=-][^{}\n]{0,32})?\}|([A-Za-z_]\w{0,64}|[@*\d]))/g;
const slice = /^:\s?(\d{0,2})(?::(\d{1,2}))?$/;
const fallback = /^:?[=-](.*)$/;
/** A word alone in backquotes is a program where a command begins and an argument follows; elsewhere, it is Markdown. */
const substitution =
  /(?:`(?:echo|printf) |(?<=(?:^|[;&|(\n"'])\s{0,8})`(?=[\w./-]{1,64}`\s+(?:-\w|[/~])))["']?([\w./-]{1,64})["']?`|\$\((?:echo(?: -[en]{1,2})?|printf|which|command -v)(?: ["']?%[sb]["']?)? ["']?([\w./\\-]{1,64})["']?\)|`(?:true|:)?`|\$\((?:true|:)?\)/g;
/** Bound on the substitutions within each other. */
const roundsMax = 8;
const braces = /\{([\w./-]{0,64}(?:,[\w./-]{0,64}){1,8})\}/g;
const emptyQuotes = /""|''/g;
const quotedWord = /(["'])([\w./-]{1,64})\1/g;
const programPath = /(?<![\w./-])(?:\/usr(?:\/local)?)?\/s?bin\/(?=\w)/g;
/** A path with `?` or sets, which the shell takes for the program that it finds there. */
const globbedPath = /(?<![\w./?[\]-])(?:\/[\w?[\]-]{1,16}){1,4}(?=\s)/g;
const globSet = /\[[\w-]{1,8}\]/g;
const globbed = ['rm', 'dd', 'nc', 'scp', 'curl', 'wget', 'sudo', 'chmod', 'chown', 'shred', 'rsync'];
/** The shell of Windows takes off the caret. */
const caret = /(?<=\w)\^(?=\w)/g;
const escaped = /\\([a-z\n])/gi;

/** Variables that each shell has. */
const known: ReadonlyMap<string, string> = new Map([
  ['IFS', ' '],
  ['HOME', '/root'],
  ['PWD', '/root'],
  ['OLDPWD', '/root'],
]);

/** Returns the text as a shell would run it; undefined where nothing in it is disguised. */
export function withoutDisguise(text: string): string | undefined {
  const read = text.slice(0, readMax);
  if (!disguise.test(read)) return undefined;
  const variables = new Map(known);
  const unquoted = read.replace(ansiQuoted, (_, quoted: string) => quoted.replace(ansiEscape, characterOf));
  for (const [, name = '', more, ...values] of unquoted.matchAll(assignment)) {
    if (variables.size >= known.size + variablesMax) break;
    const value = `${(more && variables.get(name)) ?? ''}${values.find((it) => it !== undefined) ?? ''}`;
    if (name !== 'IFS') variables.set(name, value.slice(0, valueMax));
  }
  const expanded = unquoted.replace(
    expansion,
    (_, indirect: string | undefined, long: string | undefined, part: string | undefined, short: string) => {
      // What is not set is empty, so `r$@m` and `r${x}m` run `rm` as well.
      const value = variables.get(long ?? short) ?? '';
      const meant = indirect ? (variables.get(value) ?? '') : value;
      return part === undefined ? meant : partOf(meant, part);
    },
  );
  const run = substituted(expanded)
    .replace(braces, (_, words: string) => words.split(',').filter(Boolean).join(' '))
    .replace(emptyQuotes, '')
    .replace(quotedWord, '$2')
    .replace(escaped, (_, letter: string) => letter.trim())
    .replace(globbedPath, programAt)
    .replace(programPath, '')
    .replace(caret, '')
    .slice(0, readMax);
  return run === read ? undefined : run;
}

/** Returns the text with what its substitutions print, from the inside out. */
function substituted(text: string): string {
  let at = text;
  for (let round = 0; round < roundsMax; round += 1) {
    const next = at.replace(
      substitution,
      (_, command?: string, word = '') => command ?? word.replace(ansiEscape, characterOf),
    );
    if (next === at) break;
    at = next;
  }
  return at;
}

/** Returns what `${x…}` stands for, where x has the value. */
function partOf(value: string, part: string): string {
  const [, from, length = value.length] = slice.exec(part) ?? [];
  if (from !== undefined) return value.slice(Number(from), Number(from) + Number(length));
  return value === '' ? (fallback.exec(part)?.[1] ?? '') : value;
}

/** Returns the program that a glob finds; the path as it is where it finds none of those that count. */
function programAt(path: string): string {
  if (!/[?[]/.test(path)) return path;
  const name = path.slice(path.lastIndexOf('/') + 1).replace(globSet, '?');
  const fits = (program: string): boolean =>
    program.length === name.length && Array.from(name).every((it, at) => it === '?' || it === program[at]);
  return (/\w/.test(name) && globbed.find(fits)) || path;
}

const characterOf = (_: string, hex?: string, unicode?: string, octal?: string): string =>
  String.fromCharCode(Number.parseInt(hex ?? unicode ?? octal ?? '', octal === undefined ? 16 : 8));

/** Programs with an argument, by what a call that disguises them is up to. */
const programs: readonly (readonly [Meaning['category'], RegExp])[] = [
  ['EXFILTRATION', /\b(?:curl|wget|nc|ncat|scp|rsync)\s+(?:-[\w-]|[/~]|https?:)/gi],
  ['PRIVILEGE_ESCALATION', /\bsudo\s+[-/~\w]|\bchmod\s+(?:-\w|[0-7]{3,4}\s|[augo]{0,4}[+=][rwxst])/gi],
  ['PRIVILEGE_ESCALATION', /\bchown\s+(?:-\w|[\w.-]{0,64}:|[\w.-]{1,64}\s+[./~$])|\bsetcap\s+cap_/gi],
  ['DESTRUCTIVE', /\b(?:rm|dd|shred|mkfs(?:\.\w+)?)\s+(?:-[\w-]|[/~]|if=|of=)/gi],
  ['EXFILTRATION', /(?<![\w.])\/etc\/(?:shadow|passwd|sudoers)\b/gi],
];
/** The score of a disguised program: whoever hides what runs has a reason. */
const disguisedScore = 0.9;

/** Returns what the programs are for that stand in `run` and were disguised in `text`. */
export const disguisedPrograms = (text: string, run: string): readonly Meaning[] =>
  programs
    .filter(([, program]) => countOf(run, program) > countOf(text, program))
    .map(([category]) => ({ category, score: disguisedScore, details: 'a program whose name is disguised' }));

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
