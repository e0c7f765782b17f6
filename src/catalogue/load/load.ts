import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readDataFile } from '../../util/files/data-file.ts';
import { folderStamp } from '../../util/files/folder-stamp.ts';
import { kept } from '../../util/kept.ts';
import { prepared } from '../../util/prepared.ts';
import { Catalogue } from '../understand.ts';
import { type CatalogueTool, openStored, openTool, type StoredTool, storeTool } from './catalogue-tool.ts';
import { mountAll } from './mounts.ts';
import { type Tool, toolSchema } from './schema.ts';
import { parseTable } from './table.ts';

/** Says that the tables of tools cannot be used. `mistakes` has all mistakes, each with its file and path. */
export class CatalogueError extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(`the tool catalogue has mistakes:\n${mistakes.join('\n')}`);
    this.name = 'CatalogueError';
    this.mistakes = mistakes;
  }
}

/** The tables of a folder, which was read once. */
export interface ToolTables {
  /**
   * Compiles the tables. `additions` are tools of the same form from elsewhere; undefined ones are passed
   * over. An addition with the name of a tool adds its hosts to that tool, and its operations go before the
   * tool's own. Mistakes name an addition by its index. Throws `CatalogueError`.
   */
  catalogue(additions?: readonly unknown[]): Catalogue;
}

const tablesOf = new Map<string, ToolTables>();

/** Reads `<dir>/<vendor>.yaml` once in a process. `keptAs` names a cache. Throws `CatalogueError`. */
export const readToolTables = (dir: string, keptAs?: string): ToolTables =>
  kept(tablesOf, dir, () => openTables(dir, keptAs));

/** Reads the tables of a folder anew; else as `readToolTables`. */
export function openTables(dir: string, keptAs?: string): ToolTables {
  const own = keptAs === undefined ? openFolder(dir) : openKept(dir, keptAs);
  let plain: Catalogue | undefined;
  return {
    catalogue(additions = []) {
      if (additions.some((it) => it !== undefined)) return catalogueOf(own, additions);
      plain ??= catalogueOf(own, []);
      return plain;
    },
  };
}

function openFolder(dir: string): readonly CatalogueTool[] {
  const mistakes: string[] = [];
  const tools = readTools(dir, mistakes);
  if (mistakes.length > 0) throw new CatalogueError(mistakes);
  return tools.map(openTool);
}

/** Opens the kept tools. They have no mistakes, since tools with mistakes are never kept. */
const openKept = (dir: string, keptAs: string): readonly CatalogueTool[] =>
  prepared(keptAs, folderStamp(dir), (): StoredTool[] => {
    const tools = openFolder(dir);
    const mistakes = tools.flatMap((it) => it.mistakes);
    if (mistakes.length > 0) throw new CatalogueError(mistakes);
    return tools.map(storeTool);
  }).map(openStored);

function catalogueOf(own: readonly CatalogueTool[], additions: readonly unknown[]): Catalogue {
  const mistakes: string[] = [];
  const tools = [...own];
  for (const [index, addition] of additions.entries()) {
    const tool = addition === undefined ? undefined : parseTool(addition, `tools[${index}]`, mistakes);
    if (tool) addTool(tools, tool);
  }
  mistakes.push(...tools.flatMap((it) => it.mistakes));
  const mounts = mountAll(tools, mistakes);
  if (mistakes.length > 0) throw new CatalogueError(mistakes);
  return new Catalogue(
    tools.map((it) => it.summary),
    mounts,
  );
}

/** Returns the catalogue of a folder, with `additions`: see `ToolTables`. */
export const loadCatalogue = (dir: string, additions: readonly unknown[] = []): Catalogue =>
  readToolTables(dir).catalogue(additions);

/**
 * Matches the beginning of the examples. They are the last part of a file and half of it, so only those who
 * try them parse them.
 */
const examplesBegin = /^examples:/m;

/** Reads the tools of a folder, with examples if `withExamples`, and adds what is wrong to `mistakes`. */
export function readTools(dir: string, mistakes: string[], withExamples = false): Tool[] {
  const files = readdirSync(dir)
    .filter((file) => file.endsWith('.yaml'))
    .sort();
  return files.flatMap((file) => {
    const text = readFileSync(join(dir, file), 'utf8');
    const end = withExamples ? -1 : text.search(examplesBegin);
    const { documents, mistake } = readDataFile(end < 0 ? text : text.slice(0, end), true);
    if (mistake !== undefined) mistakes.push(`${file}: ${mistake}`);
    const [value] = documents;
    const tool = value === undefined ? undefined : parseTool(value, file, mistakes);
    if (tool && `${tool.name}.yaml` !== basename(file)) {
      mistakes.push(`${file}: name: the file of ${tool.name} must be called ${tool.name}.yaml`);
    }
    return tool ? withTable(tool, dir, mistakes) : [];
  });
}

/**
 * Adds the operations in `generated/<tool>.txt`, which the vendor publishes as data. Those of the tool's own
 * file go before them.
 */
function withTable(tool: Tool, dir: string, mistakes: string[]): Tool {
  const file = join('generated', `${tool.name}.txt`);
  const text = readIfThere(join(dir, file));
  if (text === undefined) return tool;
  const table = parseTable(text, tool.base_paths);
  if (typeof table === 'string') mistakes.push(`${file}: ${table}`);
  return typeof table === 'string' ? tool : { ...tool, table };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parseTool(value: unknown, where: string, mistakes: string[]): Tool | undefined {
  const { success, data, error } = toolSchema.safeParse(value);
  if (success) return data;
  mistakes.push(
    ...error.issues.map(({ path, message }) => `${where}: ${path.join('.') || '(file)'}: ${message}`),
  );
  return undefined;
}

function addTool(tools: CatalogueTool[], addition: Tool): void {
  const index = tools.findIndex(({ head }) => head.name === addition.name);
  const known = tools[index];
  if (known) tools[index] = openTool(joined(known.tool(), addition));
  else tools.push(openTool(addition));
}

/**
 * Joins a tool and an addition. The addition stands first, so its operations are asked first; the tool's own
 * operations become a further surface.
 */
function joined(known: Tool, addition: Tool): Tool {
  const { surfaces, name, title, examples, table, ...own } = known;
  const hosts = [...known.hosts, ...addition.hosts];
  return {
    ...addition,
    ...{ name, title, examples, hosts, ...(table ? { table } : {}) },
    extract: { ...known.extract, ...addition.extract },
    unknown_verb: addition.unknown_verb ?? known.unknown_verb,
    max_body_bytes: known.max_body_bytes,
    surfaces: [...addition.surfaces, { ...own, hosts }, ...surfaces],
  };
}
