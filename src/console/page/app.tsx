import type { ComponentType } from 'preact';
import { Suspense } from 'preact/compat';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import type { ShownSession } from '../../api/answers.ts';
import { ApiProblem, chosenTenant, get, session } from './data/api.ts';
import { href, place } from './data/route.ts';
import { type Children, Empty, PageHead, Problem, Skeleton } from './kit/bits.tsx';
import { loaded } from './kit/loaded.tsx';
import { Overview } from './pages/overview.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { Shell } from './shell.tsx';

/* The pages of the console. Each is loaded when it is first looked at; the overview comes along. */
const pages: Readonly<Record<string, ComponentType>> = {
  approvals: loaded(() => import('./pages/approvals/approvals.tsx')),
  activity: loaded(() => import('./pages/activity/activity.tsx')),
  policies: loaded(() => import('./pages/policies/policies.tsx')),
  keys: loaded(() => import('./pages/keys/keys.tsx')),
  routes: loaded(() => import('./pages/routes.tsx')),
  tools: loaded(() => import('./pages/tools.tsx')),
  feeds: loaded(() => import('./pages/feeds.tsx')),
  notifications: loaded(() => import('./pages/notifications.tsx')),
  usage: loaded(() => import('./pages/usage.tsx')),
  audit: loaded(() => import('./pages/audit.tsx')),
  settings: loaded(() => import('./pages/settings.tsx')),
  incidents: loaded(() => import('./pages/incidents.tsx')),
  agents: loaded(() => import('./pages/agents.tsx')),
};

export function App() {
  useEffect(() => {
    get<ShownSession>('/v1/console/sessions/current').then(
      (it) => {
        session.value = it;
      },
      (problem: unknown) => {
        // Whatever the problem is, nothing can be shown. The sign-in says what is wrong when it is tried.
        if (problem instanceof ApiProblem) session.value = null;
      },
    );
  }, []);
  if (session.value === undefined) return <Starting />;
  if (session.value === null) return <SignIn />;
  return (
    <Shell key={chosenTenant.value}>
      <Caught>
        <Current />
      </Caught>
    </Shell>
  );
}

/** Shows what `index.html` shows, so that nothing flickers before it is known who is signed in. */
const Starting = () => (
  <p class="starting">
    <img src="./favicon.svg" alt="" width="28" height="28" /> Postern
  </p>
);

/** Shows in the place of a page that it has failed. The frame stays, and leads to the other pages. */
function Caught({ children }: Children) {
  const [error, leave] = useErrorBoundary((it) => reportError(it));
  useEffect(leave, [place.value]);
  if (error === undefined) return <>{children}</>;
  const cause = error instanceof Error ? error.message : String(error);
  return (
    <>
      <PageHead title="This page has failed" />
      <Problem of={new Error(`That is a mistake of the console: ${cause}`)} again={() => location.reload()} />
    </>
  );
}

function Current() {
  const { page } = place.value;
  useEffect(() => {
    document.title = `${page.charAt(0).toUpperCase()}${page.slice(1).replaceAll('-', ' ')} · Postern`;
  }, [page]);
  if (page === 'overview') return <Overview />;
  const Chosen = Object.hasOwn(pages, page) ? pages[page] : undefined;
  if (Chosen === undefined)
    return (
      <>
        <PageHead title="There is no such page" />
        <Empty title="The address names a page that does not exist.">
          <a href={href('overview')}>Go to the overview</a>
        </Empty>
      </>
    );
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      <Chosen key={page} />
    </Suspense>
  );
}
