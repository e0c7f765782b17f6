import { useRef } from 'preact/hooks';
import type { Listing } from '../../../api/answers.ts';
import { get, type Query } from './api.ts';
import { type LoadedResource, type ResourceOptions, useResource } from './resource.ts';

export interface ListedPages<T> extends Omit<LoadedResource<T>, 'data'> {
  readonly items: readonly T[] | undefined;
  /** Reads one page more; undefined where there is none, or enough is held. */
  readonly more: (() => void) | undefined;
}

/** Returns what stands at a path of the API; nothing is read without one. */
export function useOne<T>(
  path: string | undefined,
  query: Query = {},
  options: ResourceOptions = {},
): LoadedResource<T> {
  const key = path && path + JSON.stringify(query);
  return useResource(key, (signal) => get<T>(path ?? '', query, signal), options);
}

const pageSize = 100;
/** Items that are held at most. A person asks for each further page. */
const itemsMax = 5000;

/** Returns a list of the API, page by page. A list that has no pages is one page. */
export function useList<T>(path: string, query: Query = {}, options: ResourceOptions = {}): ListedPages<T> {
  const key = path + JSON.stringify(query);
  const wanted = useRef({ key, pages: 1 });
  if (wanted.current.key !== key) wanted.current = { key, pages: 1 };
  const { data, ...list } = useResource(
    key,
    async (signal) => {
      const items: T[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < wanted.current.pages; page += 1) {
        const asked = { limit: pageSize, ...query, cursor };
        const read = await get<Pick<Listing<T>, 'items'> & Partial<Listing<T>>>(path, asked, signal);
        items.push(...read.items);
        cursor = read.next_cursor ?? undefined;
        if (cursor === undefined) break;
      }
      return { items, cursor };
    },
    options,
  );
  const more = () => {
    wanted.current.pages += 1;
    list.reload();
  };
  const hasMore = data?.cursor !== undefined && data.items.length < itemsMax;
  return { ...list, items: data?.items, more: hasMore ? more : undefined };
}
