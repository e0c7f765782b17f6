import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/* A real browser for the console: one for all pages of a test, with what no page may do written down. */

interface Test {
  teardown(close: () => void | Promise<void>): void;
}

export interface ConsoleTab {
  readonly page: Page;
  /** What the browser complained of: violations of the Content-Security-Policy, errors of scripts, dialogs. */
  readonly complaints: readonly string[];
  /** Shows a page of the console by its hash. */
  show(place: string): Promise<void>;
  signIn(secret: string): Promise<void>;
}

export async function launchBrowser(t: Test, executablePath: string): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
    chromiumSandbox: false,
  });
  t.teardown(() => browser.close());
  return browser;
}

/** Where the page is built first, the daemon tells to ask again. */
export async function builtPage(controlUrl: string): Promise<void> {
  for (let i = 0; i < 480; i += 1) {
    if ((await fetch(new URL('/console/', controlUrl))).status !== 503) return;
    await sleep(500);
  }
}

/** An answer 401 or 403 is what a test asked for; browsers tell of it as of an error. */
const expected = /Failed to load resource: the server responded with a status of 4\d\d/;

export async function openTab(
  browser: Browser,
  controlUrl: string,
  options: BrowserContextOptions = {},
): Promise<ConsoleTab> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const url = new URL('/console/', controlUrl).href;
  return {
    page,
    complaints,
    async show(place) {
      await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`);
    },
    async signIn(secret) {
      await page.goto(url);
      await page.getByLabel('Secret or key').fill(secret);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('.frame').waitFor();
    },
  };
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What colours have to do with; a scheme of colours changes nothing else. */
export const rulesOfColours: readonly string[] = ['color-contrast', 'link-in-text-block'];

/** What axe finds wrong with the page, by all rules or these: rule and element. It is put in past the policy of the page. */
export async function accessibilityProblems(page: Page, rules: readonly string[] = []): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axeSource);
  const only = rules.length > 0 ? { runOnly: { type: 'rule', values: rules } } : {};
  return page.evaluate(
    async (options) => {
      const { axe } = globalThis as unknown as {
        axe: {
          run(
            options: object,
          ): Promise<{ violations: { id: string; nodes: { html: string; target: string[] }[] }[] }>;
        };
      };
      const { violations } = await axe.run(options);
      return violations.flatMap(({ id, nodes }) =>
        nodes.map((it) => `${id}: ${it.target.join(' ')} ${it.html.slice(0, 160)}`),
      );
    },
    { resultTypes: ['violations'], ...only },
  );
}
