import { useEffect, useRef, useState } from 'preact/hooks';
import type { Listing, TraceRow } from '../../../api/answers.ts';
import { traceIdsFrom } from '../../../core/trace-time.ts';
import { apiUrl, get } from './api.ts';
import type { PageQuery } from './route.ts';
import { useStream } from './stream.ts';

/* Reads the calls that fit the filters: the newest at once, older ones on request, new ones as they come. */

const pageSize = 100;
/** Empty pages that are read in a row, since a page may be empty although more follow. */
const emptyPagesMax = 20;
/** Milliseconds by which the clock of a browser may be ahead of the gateway's. */
const clocksApartMs = 60_000;
/** Rows that are shown at most; beyond that the filters must say more. */
export const rowsMax = 20_000;
const freshMax = 1000;

const filterNames = [
  'decision',
  'band',
  'reason',
  'class',
  'answer',
  'tool_name',
  'operation',
  'agent_id',
  'tag',
  'q',
  'from',
  'to',
] as const;

export function traceFilters(query: PageQuery): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of filterNames) if (query[name]) found[name] = query[name];
  return found;
}

interface State {
  readonly rows?: readonly TraceRow[];
  /** The newest call when the list was read. Calls after it are still to come. */
  readonly newest?: string | undefined;
  readonly cursor?: string | null;
  readonly problem?: Error | undefined;
  readonly isLoading: boolean;
}

async function readPage(filters: Record<string, string>, cursor: string | undefined, signal: AbortSignal) {
  let next = cursor;
  for (let turn = 0; ; turn += 1) {
    const page = await get<Listing<TraceRow>>(
      '/v1/traces',
      { ...filters, limit: pageSize, cursor: next },
      signal,
    );
    if (page.items.length > 0 || page.next_cursor === null || turn >= emptyPagesMax) return page;
    next = page.next_cursor;
  }
}

export function useTraces(filters: Record<string, string>, isPaused: boolean) {
  const key = JSON.stringify(filters);
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<State>({ isLoading: true });
  const controller = useRef(new AbortController());
  const busy = useRef(false);
  const load = async (cursor: string | undefined, old: readonly TraceRow[]) => {
    const { signal } = controller.current;
    if (busy.current) return;
    busy.current = true;
    setState((it) => ({ ...it, isLoading: true, problem: undefined }));
    try {
      const page = await readPage(filters, cursor, signal);
      if (signal.aborted) return;
      setState((it) => ({
        rows: merge(it.rows ?? old, page.items),
        newest: it.newest ?? page.items[0]?.trace_id ?? traceIdAt(Date.now() - clocksApartMs),
        cursor: page.next_cursor,
        isLoading: false,
      }));
    } catch (error) {
      if (!signal.aborted) setState((it) => ({ ...it, isLoading: false, problem: error as Error }));
    } finally {
      if (!signal.aborted) busy.current = false;
    }
  };
  useEffect(() => {
    controller.current = new AbortController();
    busy.current = false;
    setState({ isLoading: true });
    void load(undefined, []);
    return () => controller.current.abort();
  }, [key, turn]);
  const rows = state.rows ?? [];
  // An answer comes after its call, and the stream does not bring the call again for it.
  const mayGrow = filters['to'] === undefined && filters['answer'] === undefined;
  const isWanted = state.rows !== undefined && mayGrow && !isPaused;
  const shown = {
    rows,
    newest: state.newest ?? '',
    oldest: state.cursor ? rows.at(-1)?.trace_id : undefined,
  };
  const live = useLive(key, filters, isWanted ? shown : undefined);
  return {
    rows: state.rows,
    /** Calls that came in meanwhile; `take` puts them on top. */
    fresh: live.fresh,
    isLive: live.isOpen,
    isLoading: state.isLoading,
    hasMore: state.cursor != null && rows.length < rowsMax,
    problem: state.problem,
    take: () => {
      const taken = live.take();
      if (taken.length > 0) setState((it) => ({ ...it, rows: merge(taken, it.rows ?? []) }));
    },
    more: () => {
      if (state.cursor != null && rows.length < rowsMax && !state.problem) void load(state.cursor, rows);
    },
    reload: () => setTurn((it) => it + 1),
  };
}

/** Returns the id that a call of this time could have (a UUID of version 7, RFC 9562, 5.7). */
const traceIdAt = (timeMs: number): string => `${traceIdsFrom(timeMs)}-7000-8000-000000000000`;

function merge(first: readonly TraceRow[], then: readonly TraceRow[]): readonly TraceRow[] {
  const seen = new Set(first.map((it) => it.trace_id));
  return [...first, ...then.filter((it) => !seen.has(it.trace_id))];
}

/** The part of the list that was read. */
interface Shown {
  readonly rows: readonly TraceRow[];
  /** The newest call when the first page was read. */
  readonly newest: string;
  /** The oldest call that was read; undefined where there are no older ones. */
  readonly oldest: string | undefined;
}

/** Holds new calls as they come, until they are taken. */
function useLive(key: string, filters: Record<string, string>, shown: Shown | undefined) {
  const isWanted = shown !== undefined;
  const [fresh, setFresh] = useState<readonly TraceRow[]>([]);
  const [isOpen, setOpen] = useState(false);
  const held = useRef<readonly TraceRow[]>([]);
  const timer = useRef(0);
  const { from: _, to: __, ...asked } = filters;
  const hear = ({ data }: MessageEvent<string>) => {
    const trace = JSON.parse(data) as TraceRow;
    // The stream begins a little before the newest call that was read, so that none is lost between the two.
    // Ids are in the order of time.
    const isKnown = ({ trace_id }: TraceRow): boolean => trace_id === trace.trace_id;
    const isOlder = shown?.oldest !== undefined && trace.trace_id < shown.oldest;
    if (isOlder || shown?.rows.some(isKnown) || held.current.some(isKnown)) return;
    held.current = [trace, ...held.current].slice(0, freshMax);
    // Many calls at once are drawn once.
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      setFresh(held.current);
    }, 200);
  };
  const url = shown && apiUrl('/v1/traces/stream', { ...asked, last_event_id: shown.newest });
  useStream(url, { trace: hear }, setOpen);
  useEffect(() => {
    held.current = [];
    setFresh([]);
    return () => {
      clearTimeout(timer.current);
      timer.current = 0;
    };
  }, [key, isWanted]);
  const take = (): readonly TraceRow[] => {
    const taken = held.current;
    held.current = [];
    setFresh([]);
    return taken;
  };
  return { fresh, isOpen, take };
}
