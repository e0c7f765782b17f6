import { kept } from '../../../util/kept.ts';
import { createCache } from '../../cache.ts';
import { destinationName } from '../../rules/destinations.ts';
import { parseMarks, wholeTrust } from '../../rules/trust.ts';
import type { TrustRecord } from '../../store.ts';
import { toBudgetArgs } from '../budgets.ts';
import { parseTrust, parseUsual, type SightingsSeen } from '../history.ts';
import { scripts } from '../scripts/scripts.ts';
import type { Asking, RedisAnswer } from './asking.ts';
import type { Link } from './link.ts';
import type { TenantNames } from './names.ts';

/*
 * Sends calls of one tenant that ask for admission in the same turn of the event loop in one run of
 * `admit.lua`. What they share is sent and read once.
 */

/** The question of one call; `revision` is that of the records that it was judged by, or ''. */
interface Question {
  readonly revision: string;
  readonly keyId: string;
  readonly asking: Asking;
}

interface FlightsOptions {
  readonly clock: 'server' | 'caller';
  readonly sightings: SightingsSeen;
}

/** The limit of questions in one run of the script, which holds up all others. */
const questionsMax = 64;
/** The limit of remembered lists of marks, each of a few kilobytes at most. */
const marksMax = 256;
/** The number of keys that come before those that calls name. */
const fixedKeys = 6;

type Reply = readonly [
  revisions: readonly string[],
  sightings: string,
  agents: readonly (readonly string[])[],
  answers: readonly (readonly (string | number)[])[],
];

interface Waiting {
  readonly question: Question;
  readonly resolve: (answer: RedisAnswer) => void;
  readonly reject: (error: unknown) => void;
}

export function createFlights({ connection, revisions }: Link, options: FlightsOptions) {
  const waiting = new Map<string, { readonly own: TenantNames; calls: Waiting[] }>();
  const marks = createCache<TrustRecord['marks']>(marksMax);
  let isPlanned = false;

  /** Returns parsed marks. They are remembered, since they change seldom and are part of many answers. */
  function marksOf(text: string): TrustRecord['marks'] {
    if (text === '') return wholeTrust.marks;
    return kept(marks, text, () => parseMarks(JSON.parse(`[${text}]`)));
  }

  function leave(): void {
    isPlanned = false;
    const all = [...waiting];
    waiting.clear();
    for (const [tenantId, { own, calls }] of all) {
      for (let from = 0; from < calls.length; from += questionsMax)
        void fly(tenantId, own, calls.slice(from, from + questionsMax));
    }
  }

  async function fly(tenantId: string, own: TenantNames, calls: readonly Waiting[]): Promise<void> {
    try {
      const { keys, args } = toScript(own, calls, options);
      const known = options.sightings.lastId(tenantId);
      const reply = await connection.run(scripts.admit, keys, [known, ...args]);
      const [found, entries, histories, answers] = reply as Reply;
      revisions.saw(tenantId, found);
      const nowMs = calls.reduce((most, { question }) => Math.max(most, question.asking.nowMs), 0);
      const sightings = options.sightings.learn(tenantId, entries, nowMs);
      const agents = histories.map(([usual, trust, marks = '']) => ({
        usual: parseUsual(usual),
        trust: { ...parseTrust(trust), marks: marksOf(marks) },
      }));
      for (const [at, { resolve }] of calls.entries()) {
        const [status, ...fields] = answers[at] ?? [];
        const agent = agents[Number(fields[3]) - 1];
        resolve({ revision: found[0] ?? '', status: String(status), fields, agent, sightings });
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }

  return {
    ask(tenantId: string, own: TenantNames, question: Question): Promise<RedisAnswer> {
      return new Promise((resolve, reject) => {
        const standing = waiting.get(tenantId);
        if (standing) standing.calls.push({ question, resolve, reject });
        else waiting.set(tenantId, { own, calls: [{ question, resolve, reject }] });
        if (isPlanned) return;
        isPlanned = true;
        setImmediate(leave);
      });
    },
  };
}

/** Returns the keys and arguments of `admit.lua`. A key, and what belongs to a caller, stands there once. */
function toScript(own: TenantNames, calls: readonly Waiting[], { clock }: FlightsOptions) {
  const keys = [own.revisions, own.keys, own.agents, own.numbers, own.mcpServers, own.sightings];
  const numbers = new Map<string, number>();
  const numberOf = (key: string): number => kept(numbers, key, () => keys.push(key));
  const callers = new Map<string, number>();
  const callerArgs: (string | number)[] = [];
  const callArgs: (string | number)[] = [];
  for (const { question } of calls) {
    const { revision, keyId, asking } = question;
    const { named = '', agentId, bucketOf, numbers: limits } = asking;
    const id = `${revision} ${keyId} ${named} ${agentId} ${bucketOf} ${limits.join()}`;
    let caller = callers.get(id);
    if (caller === undefined) {
      caller = callers.size + 1;
      callers.set(id, caller);
      const ofCaller = [
        own.keyNumbers(keyId),
        own.destinations(agentId),
        own.keyNumbers(bucketOf ?? keyId),
        own.history(agentId),
        own.marks(agentId),
      ];
      callerArgs.push(revision, keyId, named, ...limits, ...ofCaller.map(numberOf));
    }
    const { mode, nowMs, destination, concernsField, mutations, toolName, names, charges } = asking;
    callArgs.push(caller, mode, clock === 'caller' ? nowMs : '', destinationName(destination), concernsField);
    callArgs.push(mutations, mutations > 0 ? numberOf(own.mutations(agentId, toolName)) : fixedKeys);
    callArgs.push(names.length);
    for (const name of names) callArgs.push(destinationName(name));
    callArgs.push(charges.length, ...toBudgetArgs(charges, ({ day }) => numberOf(own.budgets(day))));
  }
  return { keys, args: [callers.size, ...callerArgs, ...callArgs] };
}
