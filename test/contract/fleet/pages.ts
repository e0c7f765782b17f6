import type { Tenant } from '../suite/lab.ts';

const pageSize = 100;

/** All items of a list, page by page, in the order of the list. */
// biome-ignore lint/suspicious/noExplicitAny: items are looked into field by field
export async function allOf(tenant: Pick<Tenant, 'admin'>, path: string): Promise<any[]> {
  const items = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const at: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await tenant.admin('GET', `${path}?limit=${pageSize}${at}`);
    if (status !== 200) throw new Error(`${path} answers ${status}: ${body?.detail}`);
    items.push(...body.items);
    cursor = body.next_cursor;
  }
  return items;
}
