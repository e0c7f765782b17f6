import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtPage, launchBrowser, openTab } from './console-browser.ts';
import { consolePages, fillConsoleLab, startConsoleLab } from './console-lab.ts';

/*
 * `npm run shots [folder]`: pictures of every page of the console, at 1280 and 390 pixels, light and dark, of a gateway with agents and
 * calls. CHROMIUM names the browser; the default folder is data/shots, which git leaves out.
 */

const folder = process.argv[2] ?? 'data/shots';
const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];
const closers: (() => void | Promise<void>)[] = [];
const scope = { teardown: (close: () => void | Promise<void>) => void closers.unshift(close) };

try {
  mkdirSync(folder, { recursive: true });
  const lab = await startConsoleLab(scope);
  await builtPage(lab.gateway.controlUrl);
  const browser = await launchBrowser(scope, process.env['CHROMIUM'] ?? '/usr/bin/chromium');
  let isFilled = false;
  for (const colorScheme of ['light', 'dark'] as const)
    for (const viewport of sizes) {
      const tab = await openTab(browser, lab.gateway.controlUrl, { viewport, colorScheme });
      const take = async (name: string) => {
        await sleep(500);
        await tab.page.screenshot({ path: join(folder, `${name}-${viewport.width}-${colorScheme}.png`) });
        if (await tab.page.evaluate('document.documentElement.scrollWidth > innerWidth'))
          process.stderr.write(`${name} is wider than ${viewport.width} pixels\n`);
      };
      await tab.page.goto(new URL('/console/', lab.gateway.controlUrl).href);
      await take('sign-in');
      await tab.signIn(lab.gateway.adminSecret);
      if (!isFilled) {
        await take('first-call');
        await fillConsoleLab(lab);
        isFilled = true;
      }
      for (const { name, place, text } of await consolePages(lab)) {
        await tab.show(place);
        await tab.page.getByRole('main').getByText(text).filter({ visible: true }).first().waitFor();
        await take(name);
      }
      for (const it of tab.complaints) process.stderr.write(`${it}\n`);
      await tab.page.context().close();
    }
} finally {
  for (const close of closers) await close();
}
