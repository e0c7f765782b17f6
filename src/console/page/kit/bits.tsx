import { computed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Band, Decision } from '../../../core/verdict.ts';
import { ApiProblem } from '../data/api.ts';
import { href } from '../data/route.ts';
import { now, toAbsolute, toClock, toRelative } from '../data/times.ts';

/* The small parts that every page is made of. */

export interface Children {
  readonly children?: ComponentChildren;
}

const decisionWords: Readonly<Record<Decision, string>> = {
  ALLOW: 'Allowed',
  SANITIZE: 'Sanitized',
  REQUIRE_APPROVAL: 'Held',
  DENY: 'Denied',
};
export const decisionWord = (decision: string): string => decisionWords[decision as Decision] ?? decision;

export function DecisionBadge({ of }: { of: Decision }) {
  return <span class={`badge decision-${of.toLowerCase()}`}>{decisionWord(of)}</span>;
}

/** Shows how risky a call was, by a word and, where it is given, its score. */
export function BandBadge({ of, score }: { of: Band; score?: number | undefined }) {
  return (
    <span class={`band band-${of.toLowerCase()}`}>
      {of.charAt(0) + of.slice(1).toLowerCase()}
      {score !== undefined && <span class="number"> {score.toFixed(2)}</span>}
    </span>
  );
}

const statusTones: Readonly<Record<string, string>> = {
  active: 'good',
  ok: 'good',
  delivered: 'good',
  approved: 'good',
  closed: 'quiet',
  enforce: 'good',
  pending: 'warn',
  investigating: 'warn',
  stale: 'warn',
  half_open: 'warn',
  monitor: 'warn',
  expired: 'quiet',
  open: 'bad',
  suspended: 'bad',
  revoked: 'bad',
  failed: 'bad',
  denied: 'bad',
  never: 'quiet',
};

export function Status({ of, word }: { of: string; word?: string }) {
  return <span class={`badge tone-${statusTones[of] ?? 'quiet'}`}>{word ?? of.replaceAll('_', ' ')}</span>;
}

interface TimeOf {
  readonly at: string | null | undefined;
  /** Set to show the time of day, for lists in which calls are told apart by their time. */
  readonly isClock?: boolean;
}

/** Shows a time as people say it, and the exact time on hover and to screen readers. */
export function Time({ at, isClock = false }: TimeOf) {
  // The clock changes the text alone, so that a long list is not drawn anew each second.
  const toText = isClock ? toClock : toRelative;
  const text = useMemo(() => computed(() => toText(Date.parse(at ?? ''), now.value)), [at, toText]);
  if (!at) return <span class="faint">never</span>;
  return (
    <time dateTime={at} title={toAbsolute(Date.parse(at))}>
      {text}
    </time>
  );
}

/** Shows what went wrong, as a sentence, with every mistake of what was sent. */
export function Problem({ of, again }: { of: Error | undefined; again?: (() => void) | undefined }) {
  if (of === undefined) return null;
  const isForbidden = of instanceof ApiProblem && of.status === 403;
  const errors = of instanceof ApiProblem ? of.errors.filter((it) => !of.message.endsWith(it.message)) : [];
  return (
    <div class={isForbidden ? 'problem forbidden' : 'problem'} role="alert">
      <p>
        {of.message}
        {of instanceof ApiProblem && of.code !== '' && <span class="code"> {of.code}</span>}
      </p>
      {errors.length > 0 && (
        <ul>
          {errors.map((it) => (
            <li key={it.path + it.message}>
              {it.path !== '' && <code>{it.path}</code>} {it.message}
            </li>
          ))}
        </ul>
      )}
      {again && !isForbidden && (
        <button type="button" class="small" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The characters of a URL's end that always show. */
const tailLength = 16;

interface CallLinkOf {
  readonly of: { readonly method: string; readonly url: string };
  readonly to: string;
}

/**
 * Shows what was called in one line, and links to it. Where there is no room, the middle of the URL is left out:
 * the calls of an agent often differ in the end alone.
 */
export function CallLink({ of: { method, url }, to }: CallLinkOf) {
  // A character of two units is not cut in half.
  const end = url.slice(-tailLength).replace(/^[\uDC00-\uDFFF]/, '');
  return (
    // It is two texts to a reader, hence the label. A row that can be chosen must not take the click, too.
    <a
      class="clip call"
      href={to}
      title={url}
      aria-label={`${method} ${url}`}
      onClick={(event) => event.stopPropagation()}
    >
      <span class="called">
        <span>
          <span class="method">{method}</span> {url.slice(0, url.length - end.length)}
        </span>
        <span>{end}</span>
      </span>
    </a>
  );
}

/** Shows grey lines of about the size of what is coming. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} class={`bar bar-${line % 4}`} />
      ))}
    </div>
  );
}

/** Shows that nothing is here yet, why, and the exact command that changes it. */
export function Empty({ title, children, command }: Children & { title: string; command?: string }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
      {command !== undefined && <Command text={command} />}
    </div>
  );
}

/** Shows a text to take along, with a button that copies it. */
export function Command({ text, label = 'Command' }: { text: string; label?: string }) {
  return (
    <div class="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <Copy text={text} />
    </div>
  );
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      setSaid('It cannot be copied here');
    }
    setTimeout(() => setSaid(''), 2500);
  };
  return (
    <button type="button" class="small copy" onClick={() => void copy()} aria-live="polite">
      {said === '' ? label : said}
    </button>
  );
}

interface PageHeadOf extends Children {
  readonly title: string;
  readonly about?: ComponentChildren;
  /** The page that lists all things of which this page shows one. */
  readonly list?: string;
}

/** Shows the head of a page: its name, a sentence, and what can be done. */
export function PageHead({ title, about, list, children }: PageHeadOf) {
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {about !== undefined && <p class="about">{about}</p>}
      </div>
      {(children || list) && (
        <div class="actions">
          {children}
          {list && (
            <a class="button plain" href={href(list)}>
              All {list}
            </a>
          )}
        </div>
      )}
    </header>
  );
}

export function Card({
  title,
  children,
  actions,
}: Children & { title?: string; actions?: ComponentChildren }) {
  return (
    <section class="card">
      {title !== undefined && (
        <div class="card-head">
          <h2>{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

/** Shows facts by name and value, one a line. Facts without a value are left out. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
