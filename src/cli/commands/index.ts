import type { Command } from 'commander';
import { addCa } from './ca.ts';
import { addConfig } from './config.ts';
import { addCredential } from './credential.ts';
import { addEnv } from './env.ts';
import { addRun } from './run.ts';
import { addServe } from './serve.ts';

/** Every command adds itself to the program; the order is that of the help. */
export const commands: readonly ((program: Command) => void)[] = [
  addServe,
  addRun,
  addEnv,
  addConfig,
  addCa,
  addCredential,
];
