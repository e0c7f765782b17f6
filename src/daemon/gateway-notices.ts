import { hash } from 'node:crypto';
import type { EventKind } from '../config/sections/notifications.ts';
import type { Band } from '../core/call.ts';
import { derivedId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { ownName } from '../core/safe-name.ts';
import type { Notice } from '../notify/notice.ts';
import { oneLine } from '../notify/texts.ts';
import { RecentMap } from '../util/recent-map.ts';

/* Notices of the daemon itself, which stand in no tenant's log. */

const minuteMs = 60_000;
/**
 * Bound on the messages of errors that are remembered. They are sentences of the code, so there are not many.
 */
const sentencesMax = 200;

interface Told {
  readonly kind: EventKind;
  readonly severity: Band;
  readonly summary: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The text that, with the minute, gives the notice the same id on every node. */
  readonly id: string;
}

function toNotice({ kind, severity, summary, data, id }: Told, atMs: number): Notice {
  const at = new Date(atMs).toISOString();
  return {
    noticeId: derivedId(hash('sha256', `${kind}\n${id}\n${Math.floor(atMs / minuteMs)}`)),
    kind,
    atMs,
    severity,
    ...{ tenantId: null, envName: null, agentId: null, agentName: null, toolName: null },
    summary: oneLine(ownName(summary)),
    data: { at, ...data },
    escalateTo: [],
  };
}

export const feedFailed = (feed: string, status: string, atMs: number): Notice =>
  toNotice(
    {
      kind: 'feed.failed',
      severity: 'MEDIUM',
      summary: `The threat feed ${feed} has a problem: it is ${status}`,
      data: { feed, status },
      id: `${feed} ${status}`,
    },
    atMs,
  );

/** Returns the notice of a reload, which has the same id in all workers of a daemon. */
export const configReloaded = (generation: number, loadedAtMs: number): Notice =>
  toNotice(
    {
      kind: 'config.reloaded',
      severity: 'LOW',
      summary: 'The configuration was reloaded',
      data: { generation, loaded_at: new Date(loadedAtMs).toISOString() },
      id: `${generation} ${loadedAtMs}`,
    },
    loadedAtMs,
  );

/**
 * Returns the log; errors that are written there are told as notices, too, each sentence at most once a
 * minute. The notice has only the sentence, which stands in the code: fields beside it may hold anything.
 */
export function withErrorsTold(log: Log, tell: (notice: Notice) => void, now: () => number): Log {
  const toldAtMs = new RecentMap<string, number>(sentencesMax);

  function tellOf(sentence: string): void {
    const nowMs = now();
    if (nowMs - (toldAtMs.get(sentence) ?? -Infinity) < minuteMs) return;
    toldAtMs.set(sentence, nowMs);
    const told = {
      kind: 'gateway.error',
      severity: 'HIGH',
      summary: sentence,
      data: {},
      id: sentence,
    } as const;
    tell(toNotice({ ...told, summary: `An error of the gateway: ${sentence}` }, nowMs));
  }

  return Object.create(log, {
    error: {
      value: (fields: object, sentence: string) => {
        log.error(fields, sentence);
        tellOf(sentence);
      },
    },
  });
}
