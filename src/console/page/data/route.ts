import { computed, signal } from '@preact/signals';

/*
 * Knows the places of the console, which are `#/page/part?filters`. The hash never reaches a server, and
 * works under any path prefix.
 */

export type PageQuery = Readonly<Record<string, string | undefined>>;

interface Address {
  readonly page: string;
  readonly parts: readonly string[];
  readonly query: PageQuery;
}

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

/** The place that the address bar names. */
export const place = computed<Address>(() => {
  const [path = '', search = ''] = hash.value.replace(/^#\/?/, '').split('?', 2);
  const [page = '', ...parts] = path
    .split('/')
    .filter((it) => it !== '')
    .map(decode);
  return {
    page: page === '' ? 'overview' : page,
    parts,
    query: Object.fromEntries(new URLSearchParams(search)),
  };
});

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the address of a place, for links. */
export function href(path: string | readonly string[], query: PageQuery = {}): string {
  const text = typeof path === 'string' ? path : path.map(encodeURIComponent).join('/');
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') search.set(name, value);
  const asked = search.toString();
  return `#/${text}${asked === '' ? '' : `?${asked}`}`;
}

export function go(to: string): void {
  location.hash = to;
}

/** Changes the place without a further step in the history, for filters that are being typed. */
export function replacePlace(to: string): void {
  history.replaceState(null, '', to);
  hash.value = location.hash;
}
