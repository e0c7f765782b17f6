import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { programFile } from '../../../util/program-files.ts';

/** A script of Redis, known there by its digest. */
export interface Script {
  readonly text: string;
  readonly sha1: string;
}

function load(...names: readonly string[]): Script {
  const read = (name: string) => readFileSync(programFile(`state/redis/scripts/${name}.lua`), 'utf8');
  const text = names.map(read).join('\n');
  return { text, sha1: hash('sha1', text) };
}

export const scripts = {
  admit: load('fields', 'ring', 'history', 'admit'),
  commit: load('commit'),
  record: load('fields', 'ring', 'history', 'record'),
  mark: load('fields', 'ring', 'history', 'mark'),
  scan: load('scan'),
  nonce: load('nonce'),
  bindHomes: load('bind-homes'),
  usage: load('read-usage'),
  counts: load('read-fields'),
  takeOver: load('take-over'),
  noticesEnqueue: load('notices-enqueue'),
  noticesClaim: load('notices-claim'),
  noticesSettle: load('notices-bury', 'notices-settle'),
  noticesGiveUp: load('notices-bury', 'notices-give-up'),
  noticesReplay: load('notices-replay'),
  told: load('told'),
  format: load('format'),
} as const;
