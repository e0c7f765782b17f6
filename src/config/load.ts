import { resolve } from 'node:path';
import { checkConfig } from './checks/checks.ts';
import { toFindings, type UnplacedMistake } from './checks/issues.ts';
import { ConfigError, dotted, type Mistake } from './checks/mistakes.ts';
import type { Environment } from './checks/references.ts';
import { References, reasonOf } from './checks/references.ts';
import { findWarnings } from './checks/warnings.ts';
import { baseOf, disk, type Files, readText, TooLongError } from './files.ts';
import { type LaidOver, originsOf } from './origins.ts';
import { resolveConfig } from './resolve.ts';
import { parseSize } from './scalars.ts';
import { type Config, configSchema, type Written } from './schema.ts';
import { isMapping, type Mapping, mapping } from './written.ts';
import { type ConfigYaml, readConfigYaml } from './yaml.ts';

export { ConfigError, type Mistake, mistakeSentence } from './checks/mistakes.ts';
export { disk, type Files, findConfigFile } from './files.ts';

/** The largest configuration that is read. A file of this size takes seconds. */
const configBytesMax = 4 * 1024 * 1024;
const tooLong =
  'the file has more than 4 MB, which is the most: policies have files of their own, and keys, agents and routes can be made over the API';
const referencedBytesMax = 1024 * 1024;

/** The surroundings of a configuration. */
interface ConfigContext {
  /**
   * The file that the configuration was read from. If undefined, relative paths start from the working
   * directory.
   */
  readonly file: string | undefined;
  readonly env: Environment;
  /** Reads what `${file:path}` names, by absolute path. By default it reads regular files of up to 1 MB. */
  readonly readFile?: (path: string) => string;
}

/**
 * Loads and parses a file; undefined gives the empty configuration. Throws `ConfigError` with all that is
 * wrong.
 */
export function loadConfig(file: string | undefined, env: Environment, files: Files = disk): Config {
  if (file === undefined) return parseConfig('', { file, env });
  const path = resolve(file);
  const context = { file: path, env, readFile: (it: string) => readText(files, it, referencedBytesMax) };
  return parseConfig(readFileText(path, files), context);
}

/** The sections that say where the daemon is, and by what it knows its operator. */
const placeSections = ['proxy', 'control', 'state', 'authority', 'log', 'pid_file'];

/**
 * Returns the part of a file with mistakes that says where its daemon is: those sections, without the keys
 * that have mistakes. Throws `refusal` where the file cannot be read as YAML.
 */
export function loadPlaces(refusal: ConfigError, env: Environment, files: Files = disk): Config {
  const { file, mistakes } = refusal;
  if (file === undefined || mistakes.some(({ path }) => path === '')) throw refusal;
  const references = referencesOf({ file, env });
  const { value } = readConfigYaml(readFileText(file, files), (it, complain) =>
    references.resolve(it, complain),
  );
  const root = mapping(value);
  const wrong = new Set(mistakes.map(({ path }) => /^[^.[]+(?:\.[^.[]+)?/.exec(path)?.[0]));
  const isRight = (path: string): boolean => !wrong.has(path);
  const places = placeSections.filter(isRight).map((section) => {
    const keys = root[section];
    if (!isMapping(keys)) return [section, keys];
    return [
      section,
      Object.fromEntries(Object.entries(keys).filter(([key]) => isRight(`${section}.${key}`))),
    ];
  });
  return validateConfig(Object.fromEntries(places), { file, env });
}

function readFileText(path: string, files: Files): string {
  try {
    return readText(files, path, configBytesMax);
  } catch (error) {
    const message = error instanceof TooLongError ? tooLong : `the file cannot be read: ${reasonOf(error)}`;
    throw new ConfigError(path, [{ path: '', line: undefined, message }]);
  }
}

/** Parses the text of a configuration. Throws `ConfigError` with everything that is wrong. */
export function parseConfig(text: string, context: ConfigContext): Config {
  if (Buffer.byteLength(text) > configBytesMax) {
    throw new ConfigError(context.file, [{ path: '', line: undefined, message: tooLong }]);
  }
  const references = referencesOf(context);
  return makeConfig(
    readConfigYaml(text, (it, complain) => references.resolve(it, complain)),
    context,
  );
}

function referencesOf({ file, env, readFile }: ConfigContext): References {
  const base = baseOf(file);
  const read = readFile ?? ((path: string) => readText(disk, path, referencedBytesMax));
  return new References({ env, readFile: (path) => read(resolve(base, path)) });
}

/**
 * Makes a configuration of a plain value with the keys of the file, and throws as `parseConfig` does. No
 * reference in it is resolved.
 */
export function validateConfig(value: unknown, context: ConfigContext): Config {
  const source = {
    value: withoutNull(value, 0),
    mistakes: [],
    placeOf: () => ({}),
    isLiteral: () => false,
    outsideOf: () => undefined,
  };
  return makeConfig(source, context);
}

function makeConfig(source: ConfigYaml, context: ConfigContext): Config {
  const { value, findings, laid } = withSettings(source.value ?? {}, context.env);
  const parsed = configSchema.safeParse(value);
  const issues = parsed.error?.issues.flatMap((issue) => toFindings(issue, value)) ?? [];
  // If the value is no mapping, there is nothing more to check.
  const checks = isMapping(value) ? checkConfig(value, context.env) : [];
  const toMistake = ({ path, message }: UnplacedMistake): Mistake => {
    const { line, column } = source.placeOf(path);
    return { path: dotted(path), line, column, message };
  };
  const mistakes = oncePerPath([...source.mistakes, ...[...findings, ...issues, ...checks].map(toMistake)]);
  if (!parsed.success || mistakes.length > 0) throw new ConfigError(context.file, mistakes);
  const written: Written = parsed.data;
  const toolsWritten = isMapping(value) && Array.isArray(value['tools']) ? value['tools'] : [];
  return resolveConfig(written, {
    file: context.file,
    base: baseOf(context.file),
    env: context.env,
    toolsWritten,
    isBodyLimitWritten: mapping(mapping(value)['limits'])['max_body_bytes'] !== undefined,
    warnings: Object.freeze(findWarnings(written, source.isLiteral).map(toMistake)),
    origins: originsOf(source, laid, context),
  });
}

/**
 * Returns the first mistake of each place, in the order of the file, since schema and checks may find the
 * same.
 */
function oncePerPath(mistakes: readonly Mistake[]): readonly Mistake[] {
  const seen = new Set<string>();
  const first = mistakes.filter(({ path, line, message }) => {
    const key = path === '' ? `${line} ${message}` : path;
    const isFirst = !seen.has(key);
    seen.add(key);
    return isFirst;
  });
  return first.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

/** Lays the settings of the environment over the file. An empty variable counts as not set. */
function withSettings(
  root: unknown,
  env: Environment,
): { value: unknown; findings: readonly UnplacedMistake[]; laid: readonly LaidOver[] } {
  if (!isMapping(root)) return { value: root, findings: [], laid: [] };
  const findings: UnplacedMistake[] = [];
  const laid: LaidOver[] = [];
  const over: Record<string, Record<string, unknown>> = {};
  const set = (section: string, key: string, variable: string, read: (text: string) => unknown): void => {
    const text = env[variable];
    if (!text) return;
    const value = read(text);
    if (value === undefined)
      findings.push({ path: [section, key], message: `the variable ${variable} is not valid` });
    else {
      over[section] = { ...over[section], [key]: value };
      laid.push({ path: [section, key], variable });
    }
  };
  set('control', 'admin_secret', 'SERVICE_API_KEYS_ADMIN_SECRET', (text) => text);
  set('proxy', 'listen', 'POSTERN_LISTEN', (text) => text);
  set('control', 'listen', 'POSTERN_CONTROL_LISTEN', (text) => text);
  set('limits', 'max_body_bytes', 'MAX_BODY_BYTES', parseSize);
  set('limits', 'replay_window', 'REPLAY_WINDOW_SEC', (text) =>
    /^\d{1,9}$/.test(text) ? `${text}s` : undefined,
  );
  const sections = Object.entries(over).map(
    ([section, values]) => [section, lay(root[section], values)] as const,
  );
  return { value: { ...root, ...Object.fromEntries(sections) }, findings, laid };
}

/** Lays values over a section. A section that is no mapping stays, so that the schema complains of it. */
const lay = (section: unknown, values: Mapping): unknown =>
  section === undefined ? values : isMapping(section) ? { ...section, ...values } : section;

const depthMax = 32;

/** Returns a copy without the keys whose value is null, as those of a file are left out. */
function withoutNull(value: unknown, depth: number): unknown {
  if (depth > depthMax)
    throw new ConfigError(undefined, [{ path: '', line: undefined, message: 'is nested too deep' }]);
  if (Array.isArray(value)) return value.map((item: unknown) => withoutNull(item, depth + 1));
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).map(([key, it]) => [
    key,
    it === null ? undefined : withoutNull(it, depth + 1),
  ]);
  return Object.fromEntries(entries);
}
