import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Agent, Listing } from '../../../api/answers.ts';
import { get } from './api.ts';

const names = signal<ReadonlyMap<string, string>>(new Map());
const pagesMax = 5;

async function load(): Promise<void> {
  const found = new Map<string, string>();
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const { items, next_cursor } = await get<Listing<Agent>>('/v1/agents', { limit: 1000, cursor });
    for (const it of items) found.set(it.agent_id, it.name);
    if (next_cursor === null) break;
    cursor = next_cursor;
  }
  names.value = found;
}

/** Returns the names of the first 5,000 agents by id; empty for a session that may not list them. */
export function useNames(): ReadonlyMap<string, string> {
  useEffect(() => {
    // Without names, ids are shown.
    load().catch(() => undefined);
  }, []);
  return names.value;
}
