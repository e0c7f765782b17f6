import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { cannotBeRead } from '../../config/checks/references.ts';
import { ConfigError, type Files, type Mistake } from '../../config/load.ts';
import { withPlaces } from '../../config/places.ts';
import type { Config } from '../../config/schema.ts';
import { openVault } from '../../credentials/credentials.ts';
import { loadRoots } from '../../wire/client/reach/roots.ts';
import { openAuthority } from '../../wire/tls/authority.ts';
import { readerOfRoots } from '../reload/named-files.ts';
import { readListenersTls } from './listener-tls.ts';

/**
 * Throws ConfigError with everything that is wrong with the files and folders that a configuration names.
 * This comes before any of them is made.
 */
export function checkFiles(config: Config, files: Files): void {
  runChecks(config, files, [
    ...upstreamRootChecks(config, files),
    ...stateRootChecks(config, files),
    ['', () => void readListenersTls(config, files)],
    ['vault', () => checkVault(config)],
    ['authority', () => checkAuthority(config)],
    ['state.dir', () => checkFolder(config.state.dir)],
    ...writtenChecks(config),
  ]);
}

/**
 * Checks the files that a reload takes over: authorities of upstreams, and files that it may write. Throws as
 * `checkFiles`.
 */
export function checkReloadedFiles(config: Config, files: Files): void {
  runChecks(config, files, [...upstreamRootChecks(config, files), ...writtenChecks(config)]);
}

/** A setting, and what throws where its files are wrong. */
type FileCheck = readonly [path: string, check: () => unknown];

function runChecks(config: Config, files: Files, checks: readonly FileCheck[]): void {
  const mistakes = checks.flatMap(([path, check]) => mistakesOf(path, check));
  if (mistakes.length > 0) throw withPlaces(new ConfigError(config.file, mistakes), files);
}

const writtenChecks = ({ log, pidFile }: Config): readonly FileCheck[] => [
  ['log.file', () => log.file !== null && checkAppendable(log.file)],
  ['pid_file', () => pidFile !== null && checkPlaceOfFile(pidFile)],
];

const rootCheck = (path: string, file: string, files: Files): FileCheck => [
  path,
  () => void loadRoots([file], readerOfRoots(files)),
];

const upstreamRootChecks = ({ upstream }: Config, files: Files): readonly FileCheck[] =>
  upstream.caFiles.map((file, at) => rootCheck(`upstream.ca_files[${at}]`, file, files));

const stateRootChecks = ({ state }: Config, files: Files): readonly FileCheck[] =>
  state.caFile === null ? [] : [rootCheck('state.ca_file', state.caFile, files)];

function mistakesOf(path: string, check: () => unknown): readonly Mistake[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    return [{ path, line: undefined, message: toSentence(error as NodeJS.ErrnoException) }];
  }
}

/** Returns a sentence on which file is wrong and why, instead of a code of the operating system. */
function toSentence(error: NodeJS.ErrnoException): string {
  const { code, path, message } = error;
  return path === undefined || code === undefined ? message : cannotBeRead(path, error);
}

/**
 * Checks the key of the vault where the configuration names one. Else the start makes one beside the state.
 */
function checkVault(config: Config): void {
  const { keyFile, key } = config.vault;
  if (key !== null || keyFile !== null) openVault(config);
}

/** Checks the certificate and key of the authority, or that the start can make them. */
function checkAuthority({ authority: { cert: certFile, key: keyFile } }: Config): void {
  if (certFile === keyFile) throw new Error(`must be two files, not both ${certFile}`);
  const isThere = [certFile, keyFile].map((it) => existsSync(it));
  if (isThere[0]) openAuthority({ certFile, keyFile, nowMs: Date.now() });
  else checkFolder(dirname(isThere[1] ? certFile : keyFile));
}

/** Checks that a path is a folder that may be written, or that such a folder can be made. */
function checkFolder(path: string): void {
  const there = nearestOf(path);
  if (!statSync(there).isDirectory()) throw new Error(`${there} is no folder`);
  checkWritable(there);
}

/** Checks that a file can be written anew at a path. */
function checkPlaceOfFile(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) throw new Error(`${path} is a folder`);
  checkFolder(dirname(path));
}

/** Checks that a file may be written, or can be made where there is none. */
function checkAppendable(path: string): void {
  if (!existsSync(path)) checkFolder(dirname(path));
  else if (statSync(path).isDirectory()) throw new Error(`${path} is a folder`);
  else checkWritable(path);
}

/** Returns the path, or the nearest folder above it that is there. */
const nearestOf = (path: string): string => (existsSync(path) ? path : nearestOf(dirname(path)));

function checkWritable(path: string): void {
  const there = nearestOf(path);
  try {
    accessSync(there, constants.W_OK);
  } catch (error) {
    throw new Error(`${there} may not be written by this user`, { cause: error });
  }
}
