import { setTimeout as sleep } from 'node:timers/promises';
import type { Approval, Listing } from '../api/answers.ts';
import { apiPath } from './ask.ts';
import { AnswerError } from './connection/answer-error.ts';
import type { Client } from './connection/client.ts';
import { print, printable, toFacts } from './output.ts';

/* `approval watch` shows one call after the other, each of which is decided with one key. */

const pollMs = 2_000;
/** Skipped calls that are remembered, so that they are not shown again; nobody skips as many. */
const skippedMax = 10_000;
const fields = [
  ...(['approval_id', 'agent_name', 'method', 'url', 'tool_name', 'operation', 'reason_codes'] as const),
  // Whoever decides must see all that the call does.
  ...(['risk_band', 'risk_score', 'findings', 'body_preview', 'covers', 'expires_at'] as const),
];
const question = '[a]pprove once  approve for the [w]indow  [d]eny  [s]kip  [q]uit ';

const decisions: Readonly<Record<string, { decision: string; scope?: string }>> = {
  a: { decision: 'approved' },
  w: { decision: 'approved', scope: 'window' },
  d: { decision: 'denied' },
};

/** Shows each pending call, oldest first, until the reader quits; with `once`, until none is left. */
export async function watchApprovals(client: Client, once: boolean): Promise<void> {
  const skipped = new Set<string>();
  for (;;) {
    const page = await client.get<Listing<Approval>>('/v1/approvals', { status: 'pending', limit: '100' });
    const next = page.items.findLast((it) => !skipped.has(it.approval_id));
    if (!next) {
      if (once) return;
      await sleep(pollMs);
      continue;
    }
    const known = fields.filter((name) => next[name] !== undefined && next[name] !== null);
    await print(`\n${toFacts(Object.fromEntries(known.map((name) => [name, next[name]])))}${question}`);
    const key = await readKey();
    await print(`${printable(key)}\n`);
    if (key === 'q') return;
    if (key === 's') {
      if (skipped.size >= skippedMax) skipped.clear();
      skipped.add(next.approval_id);
    }
    const decision = decisions[key];
    if (decision) await decide(client, next.approval_id, decision);
  }
}

/** Decides an approval and prints the outcome: somebody else may have decided, or its time may be over. */
async function decide(client: Client, id: string, decision: { decision: string }): Promise<void> {
  try {
    await client.send('POST', apiPath('/v1/approvals/?/decision', id), decision);
    await print(`${id} is ${decision.decision}.\n`);
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    await print(`${error.message}\n`);
  }
}

const interrupt = '\u0003';
const endOfInput = '\u0004';

/** Returns the key that is pressed, in lower case; `q` for Ctrl-C and Ctrl-D. */
async function readKey(): Promise<string> {
  const { stdin } = process;
  stdin.setRawMode(true);
  stdin.resume();
  try {
    const key = await new Promise<string>((done) => stdin.once('data', (typed) => done(String(typed))));
    return key === interrupt || key === endOfInput ? 'q' : key.slice(0, 1).toLowerCase();
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
  }
}
