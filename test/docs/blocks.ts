import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** Pages that readers type commands from. */
export const pages: readonly string[] = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).sort()];

export const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

/** A block of commands of a page. */
export interface Block {
  readonly line: number;
  readonly text: string;
}

/** All that is fenced as `sh`, also within lists. */
export const blocksIn = (page: string): readonly Block[] =>
  [...page.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(({ index, 1: indent = '', 2: text = '' }) => ({
    line: page.slice(0, index).split('\n').length,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

/** The commands of a block, one a line: without comments and documents in it. */
const commandsOf = (text: string): readonly string[] =>
  text
    .replaceAll(/<<'?(\w+)'?\n[\s\S]*?^\1$/gm, '')
    .replaceAll('\\\n', ' ')
    .replaceAll(/(^|\s)#.*$/gm, '')
    .split(/\n|&&|\|\||[|;()]/)
    .map((it) => it.replace(/^[\s$"]+/, '').trim())
    .filter((it) => it !== '');

/** The programs that a block starts. */
export const programsOf = (text: string): readonly string[] =>
  commandsOf(text).map((it) => it.replace(/^(?:\w+=\S* +)+/, '').split(' ')[0] ?? '');

/** Command lines of `postern` in a page: in its blocks, and named in its text. */
export function posternLines(page: string): readonly string[] {
  const inBlocks = blocksIn(page).flatMap(({ text }) => commandsOf(text));
  const fenced = [...page.matchAll(/^```text\n([\s\S]*?)^```$/gm)].flatMap(([, text = '']) =>
    commandsOf(text),
  );
  const named = [...page.matchAll(/`((?:bin\/)?postern [^`]+)`/g)].map(([, text = '']) => text);
  return [...inBlocks, ...fenced, ...named.flatMap((it) => commandsOf(it))].filter((it) =>
    /^(?:bin\/)?postern /.test(it),
  );
}
