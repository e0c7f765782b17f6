import { useEffect, useRef, useState } from 'preact/hooks';
import type { Tenant } from '../../api/answers.ts';
import { call, chosenTenant, may, session } from './data/api.ts';
import { useChanges } from './data/changes.ts';
import { useOne } from './data/pages.ts';
import { go, href, place } from './data/route.ts';
import { pending, usePending, waiting } from './data/waiting.ts';
import type { Children } from './kit/bits.tsx';

interface LinkedPage {
  readonly id: string;
  readonly word: string;
  /** Permissions of which a session needs one to see anything on the page; none where all may see it. */
  readonly needs: readonly string[];
}

const page = (id: string, word: string, ...needs: readonly string[]): LinkedPage => ({ id, word, needs });

const groups: readonly (readonly [name: string, pages: readonly LinkedPage[]])[] = [
  [
    'Watch',
    [
      page('overview', 'Overview', 'activity:read', 'usage:read'),
      page('activity', 'Activity', 'activity:read'),
      page('approvals', 'Approvals', 'activity:read', 'approvals:decide'),
      page('incidents', 'Incidents', 'activity:read', 'incidents:write'),
    ],
  ],
  [
    'Control',
    [
      page('agents', 'Agents', 'activity:read', 'agents:write'),
      page('policies', 'Policies', 'policies:read'),
      page('keys', 'Keys', 'keys:read'),
      page('routes', 'Routes and credentials', 'routes:write', 'credentials:write'),
      page('tools', 'Tools'),
    ],
  ],
  [
    'Gateway',
    [
      page('feeds', 'Feeds', 'activity:read'),
      page('notifications', 'Notifications', 'activity:read'),
      page('usage', 'Usage', 'usage:read'),
      page('audit', 'Audit', 'activity:read'),
      page('settings', 'Settings'),
    ],
  ],
];

/** Returns the pages that the session may read, group by group. */
const ownGroups = () =>
  groups.flatMap(([name, pages]) => {
    const own = pages.filter(({ needs }) => needs.length === 0 || may(...needs));
    return own.length === 0 ? [] : [{ name, pages: own }];
  });

/** Shows the frame of all pages, with the way to each of them, what waits, and who is signed in. */
export function Shell({ children }: Children) {
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  useChanges();
  usePending();
  const { page } = place.value;
  const first = useRef(true);
  useEffect(() => {
    setOpen(false);
    // Whoever uses a screen reader hears the name of the new page.
    if (!first.current) main.current?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
    first.current = false;
    scrollTo(0, 0);
  }, [page]);
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key === 'Escape') setOpen(false);
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, []);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header class="topbar">
        <Brand />
        <button
          type="button"
          class="plain small"
          aria-expanded={isOpen}
          aria-controls="side"
          onClick={() => setOpen(!isOpen)}
        >
          Menu{waiting.value > 0 && ` (${waiting.value})`}
        </button>
      </header>
      <Side isOpen={isOpen} page={page} close={() => setOpen(false)} />
      <main class="main" ref={main} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

const Brand = () => (
  <a class="brand" href={href('overview')}>
    <img src="./favicon.svg" alt="" />
    Postern
  </a>
);

function Side({ isOpen, page, close }: { isOpen: boolean; page: string; close: () => void }) {
  return (
    <aside class={isOpen ? 'side open' : 'side'} id="side" aria-label="Pages and session">
      <Brand />
      <nav aria-label="Pages">
        {ownGroups().map(({ name, pages }) => (
          <div key={name}>
            <p class="group">{name}</p>
            <ul>
              {pages.map(({ id, word }) => (
                <li key={id}>
                  <a href={href(id)} aria-current={page === id ? 'page' : undefined} onClick={close}>
                    {word}
                    {id === 'approvals' && waiting.value > 0 && (
                      <span class="count">
                        {waiting.value}
                        <span class="hidden"> waiting</span>
                      </span>
                    )}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <Who />
    </aside>
  );
}

function Who() {
  const { value } = session;
  const signOut = async () => {
    await call('DELETE', '/v1/console/sessions/current').catch(() => undefined);
    chosenTenant.value = undefined;
    session.value = null;
  };
  if (!value) return null;
  return (
    <div class="who">
      <p>
        <strong>{value.role}</strong>
        <Tenants own={value.tenant_id} />
        {value.subject !== value.role && (
          <span class="clip" title={value.subject}>
            {value.subject}
          </span>
        )}
      </p>
      <div class="row">
        <ThemeButton />
        <button type="button" class="small plain" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </div>
  );
}

/** Shows the tenant that is looked at. Whoever may see several chooses one. */
function Tenants({ own }: { own: string }) {
  const isAdmin = session.value?.role === 'admin';
  const tenants = useOne<{ items: readonly Tenant[] }>(isAdmin ? '/v1/tenants' : undefined);
  const items = tenants.data?.items ?? [];
  if (items.length < 2) return <>{` · ${own}`}</>;
  return (
    <select
      aria-label="Tenant"
      value={chosenTenant.value ?? own}
      onChange={(event) => {
        const { value } = event.currentTarget;
        chosenTenant.value = value === own ? undefined : value;
        pending.value = undefined;
        // The parts of the address name things of the former tenant, so they are dropped.
        go(href(place.value.page));
      }}
    >
      {items.map((it) => (
        <option key={it.tenant_id} value={it.tenant_id}>
          {it.name}
        </option>
      ))}
    </select>
  );
}

type Theme = 'auto' | 'light' | 'dark';
const order: readonly Theme[] = ['auto', 'light', 'dark'];
const stored = localStorage.getItem('postern-theme');
const asStored = order.find((it) => it === stored) ?? 'auto';
applyTheme(asStored);

function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(asStored);
  const next = () => {
    const chosen = order[(order.indexOf(theme) + 1) % order.length] ?? 'auto';
    localStorage.setItem('postern-theme', chosen);
    applyTheme(chosen);
    setTheme(chosen);
    dispatchEvent(new Event('themechange'));
  };
  return (
    <button
      type="button"
      class="small plain"
      onClick={next}
      title="Colours: as the system has them, light, or dark"
    >
      Theme: {theme}
    </button>
  );
}
