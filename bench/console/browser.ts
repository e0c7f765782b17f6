import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { builtPage, launchBrowser, openTab } from '../../test/support/console-browser.ts';
import { withTeardown } from '../with-teardown.ts';

/* What a person at the browser waits for: the first paint, and each task that keeps a frame waiting while a long list is scrolled. */

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const longTaskMs = 50;

/** A browser with a new profile and an empty cache, five times. */
export async function measurePage(control: string, adminSecret: string): Promise<void> {
  if (!existsSync(executablePath)) return;
  await builtPage(control);
  const signIn: number[] = [];
  const overview: number[] = [];
  for (let round = 0; round < 5; round += 1)
    await withTeardown(async (bench) => {
      const browser = await launchBrowser(bench, executablePath);
      const tab = await openTab(browser, control);
      await tab.page.goto(new URL('/console/', control).href);
      signIn.push(await firstPaintMs(tab.page));
      await tab.signIn(adminSecret);
      const [cookie] = await tab.page.context().cookies();
      // Signed in, and with an empty cache again.
      const other = await browser.newContext();
      if (cookie) await other.addCookies([cookie]);
      const page = await other.newPage();
      await page.goto(new URL('/console/', control).href);
      overview.push(await firstPaintMs(page));
    });
  console.log(`first paint of the sign-in      ${shown(signIn)}`);
  console.log(`first paint of the overview     ${shown(overview)}`);
  await withTeardown(async (bench) => {
    const tab = await openTab(await launchBrowser(bench, executablePath), control);
    await tab.signIn(adminSecret);
    await tab.show('activity');
    await scroll(tab.page, control, adminSecret);
    if (tab.complaints.length > 0) console.log(tab.complaints);
  });
}

const shown = (times: number[]): string => {
  times.sort((a, b) => a - b);
  const ms = times.map((it) => it.toFixed(0));
  return `median ${ms[Math.floor(ms.length / 2)]} ms of ${ms.join(', ')}`;
};

/** By PerformancePaintTiming, from the moment in which the address was entered. */
function firstPaintMs(page: Page): Promise<number> {
  return page.evaluate(async () => {
    for (;;) {
      const [paint] = performance.getEntriesByName('first-contentful-paint');
      if (paint) return paint.startTime;
      await new Promise((done) => setTimeout(done, 20));
    }
  });
}

/** Turns the wheel for half a minute while calls come in, and goes back to the top now and then. */
async function scroll(page: Page, control: string, adminSecret: string): Promise<void> {
  const list = page.getByRole('region', { name: 'Calls, newest first' });
  await list.locator('tr[data-row]').first().waitFor();
  await list.hover();
  const turns = 300;
  const perSecond = 20;
  let sent = 0;
  const calls = setInterval(() => {
    sent += 1;
    void fetch(new URL('/v1/scan?tenant_id=bench', control), {
      method: 'POST',
      headers: { authorization: `Bearer ${adminSecret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ method: 'GET', url: `https://live.example.com/${sent}`, env_name: 'default' }),
    }).then((it) => it.text());
  }, 1000 / perSecond);
  const browser = page.context().browser();
  await browser?.startTracing(page, { categories: ['toplevel'] });
  let rows = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    await page.mouse.wheel(0, turn % 100 === 99 ? -1e6 : 400);
    await page.waitForTimeout(50);
    rows = Math.max(rows, Number(await list.locator('table').getAttribute('aria-rowcount')) - 1);
  }
  clearInterval(calls);
  const tasks = tasksIn((await browser?.stopTracing())?.toString() ?? '');
  console.log(`scrolling ${rows} calls, ${sent} came in: ${tasks.length} tasks of the page`);
  for (const [name, times] of [
    ['by the clock', tasks.map((it) => it.dur)],
    ['of its own processor time', tasks.map((it) => it.tdur)],
  ] as const) {
    const long = times.filter((it) => it > longTaskMs);
    console.log(
      `  ${long.length} longer than ${longTaskMs} ms ${name}, the longest ${Math.max(...times).toFixed(0)} ms`,
    );
  }
}

interface Task {
  readonly dur: number;
  readonly tdur: number;
}

/** What the main thread of the page did, task by task: a frame waits for one of them. */
function tasksIn(trace: string): readonly Task[] {
  const { traceEvents: events } = JSON.parse(trace) as {
    traceEvents: {
      name: string;
      ph: string;
      pid: number;
      tid: number;
      dur?: number;
      tdur?: number;
      args: { name?: string };
    }[];
  };
  const threads = new Set(
    events.filter((it) => it.args.name === 'CrRendererMain').map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return events
    .filter((it) => it.ph === 'X' && it.name.endsWith('RunTask') && threads.has(`${it.pid} ${it.tid}`))
    .map(({ dur = 0, tdur = 0 }) => ({ dur: dur / 1000, tdur: tdur / 1000 }));
}
