import { useEffect, useRef, useState } from 'preact/hooks';
import { get, type Query } from './api.ts';
import { heard } from './changes.ts';
import { type ResourceOptions, useRetry } from './resource.ts';
import type { Listing } from './types.ts';

export interface ListedPages<T> {
  readonly items: readonly T[] | undefined;
  readonly problem: Error | undefined;
  readonly isLoading: boolean;
  readonly more: (() => void) | undefined;
  readonly reload: () => void;
}

const pageSize = 100;
/** Items that are held at most. A person asks for each further page. */
const itemsMax = 5000;

interface State<T> {
  readonly key?: string;
  readonly items?: readonly T[];
  readonly cursor?: string | null;
  readonly problem?: Error;
  readonly isLoading: boolean;
}

/** Returns a list of the API, page by page. */
export function useList<T>(
  path: string,
  query: Query = {},
  { everyMs, area }: ResourceOptions = {},
): ListedPages<T> {
  const key = path + JSON.stringify(query);
  const [state, setState] = useState<State<T>>({ isLoading: true });
  const [turn, setTurn] = useState(0);
  const pages = useRef(1);
  useEffect(() => {
    pages.current = 1;
  }, [key]);
  useEffect(() => {
    const controller = new AbortController();
    const load = async () => {
      const items: T[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < pages.current; page += 1) {
        const read = await get<Listing<T>>(path, { limit: pageSize, ...query, cursor }, controller.signal);
        items.push(...read.items);
        cursor = read.next_cursor ?? undefined;
        if (cursor === undefined) break;
      }
      setState({ key, items, cursor: cursor ?? null, isLoading: false });
    };
    load().catch((problem: Error) => {
      if (controller.signal.aborted) return;
      setState((it) => ({ ...(it.key === key ? it : {}), key, problem, isLoading: false }));
    });
    return () => controller.abort();
  }, [key, turn, area && heard[area].value]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTurn((it) => it + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  const isOwn = state.key === key;
  const reload = () => setTurn((it) => it + 1);
  useRetry(state.problem, reload);
  const hasMore = isOwn && state.cursor != null && (state.items?.length ?? 0) < itemsMax;
  return {
    items: isOwn ? state.items : undefined,
    problem: isOwn ? state.problem : undefined,
    isLoading: !isOwn,
    reload,
    more: hasMore
      ? () => {
          pages.current += 1;
          reload();
        }
      : undefined,
  };
}
