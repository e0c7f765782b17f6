import type { Listing } from '../../api/answers.ts';
import { parseUuid } from '../../core/ids.ts';
import { printable } from '../output.ts';
import type { Client } from './client.ts';

/** The form of the beginning of an id. */
export const beginning = /^[0-9a-f][0-9a-f-]{3,34}$/i;
/** Pages that are searched. In a longer list, the only match that was found might not be the only one. */
const pagesMax = 20;
const shownMax = 5;

/** A list of the API whose entries may be named by the beginning of their id. */
export interface NamedBy {
  readonly path: string;
  readonly field: string;
  /** The word for one of the things in the list, in the singular. */
  readonly noun: string;
}

export const agentList: NamedBy = { path: '/v1/agents', field: 'agent_id', noun: 'agent' };

/**
 * Returns the id of the one entry whose id begins with a text. A whole id is returned as it is. Throws where
 * none or several begin so.
 */
export async function wholeId(
  client: Client,
  { path, field, noun }: NamedBy,
  text: string | undefined,
): Promise<string | undefined> {
  if (text === undefined || parseUuid(text) !== undefined) return text;
  if (!beginning.test(text))
    throw new Error(`"${printable(text)}" is no id; name the ${noun} by its id or the beginning of it.`);
  const found = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const { items, next_cursor } = await client.get<Listing<Record<string, unknown>>>(path, {
      limit: '1000',
      cursor,
    });
    for (const it of items) {
      const id = String(it[field]);
      if (id.startsWith(text.toLowerCase())) found.add(id);
    }
    cursor = next_cursor ?? undefined;
    if (found.size > 1 || cursor === undefined) break;
  }
  if (found.size > 1)
    throw new Error(
      `several ${noun}s begin with ${text}: ${[...found].slice(0, shownMax).join(', ')}. Type more of the id.`,
    );
  if (cursor !== undefined)
    throw new Error(`there are too many ${noun}s to find one by the beginning of its id. Type all of it.`);
  const [only] = found;
  if (only === undefined) throw new Error(`there is no ${noun} whose id begins with ${text}.`);
  return only;
}
