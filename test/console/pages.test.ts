import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { conditionWords, matchKeys, ruleKeys } from '../../src/console/page/data/policy-words.ts';
import { conditionKeys, matchSchema, ruleSchema } from '../../src/policy/schema.ts';
import {
  accessibilityProblems,
  builtPage,
  launchBrowser,
  openTab,
  rulesOfColours,
} from '../support/console-browser.ts';
import { consolePages, fillConsoleLab, startConsoleLab } from '../support/console-lab.ts';
import { needProgram } from '../support/programs.ts';
import { until } from '../support/redis.ts';

/* The console in a real browser: the stories of those who use it, one after another on one gateway. */

/** Passes requests on without what browsers tell of themselves; answers its address. */
async function startFront(t: { teardown(close: () => void): void }, to: string): Promise<string> {
  const server = http.createServer((request, response) => {
    const told = /^(?:sec-|upgrade-insecure|origin$)/;
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !told.test(name)));
    http.get(new URL(request.url ?? '/', to), { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const firstPageBytesMax = 150 * 1024;
const script = '<img/src=x/onerror=globalThis.ran=1>';

t.test('the editor of policies knows the words of their language', async (t) => {
  t.same([...matchKeys].sort(), Object.keys(matchSchema.shape).sort());
  t.same([...conditionWords].sort(), [...conditionKeys].sort());
  t.same([...ruleKeys].sort(), Object.keys(ruleSchema.shape).sort());
});

t.test('people work with the console in a browser', async (t) => {
  const executablePath = needProgram(t, 'chromium');
  if (!executablePath) return;
  const lab = await startConsoleLab(t);
  const { gateway, upstream, send, admin } = lab;
  const browser = await launchBrowser(t, executablePath);
  const tab = await openTab(browser, gateway.controlUrl);
  const { page, show } = tab;
  await builtPage(gateway.controlUrl);
  const main = page.getByRole('main');
  const button = (name: string | RegExp) => main.getByRole('button', { name });
  const shows = (text: string | RegExp) => main.getByText(text).filter({ visible: true }).first().waitFor();
  const wentOut = (path: string) => upstream.requests.filter(({ url }) => url.includes(path)).length;

  await t.test('a wrong secret is refused in a sentence', async (t) => {
    await page.goto(new URL('/console/', gateway.controlUrl).href);
    await page.getByLabel('Secret or key').fill('not-the-secret');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'neither the admin secret nor a valid key' }).waitFor();
    t.same(await accessibilityProblems(page), []);
  });

  await t.test('a first visit guides to the first call, sees it arrive, and is light', async (t) => {
    const addresses: string[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/console/') && response.ok()) addresses.push(response.url());
    });
    await tab.signIn(gateway.adminSecret);
    await page.getByRole('heading', { name: 'Send the first call' }).waitFor();
    const loaded = await Promise.all(
      addresses.map(async (it) => Buffer.from(await (await fetch(it)).arrayBuffer())),
    );
    t.ok(loaded.length >= 3, 'page, script and style were seen');
    const bytes = loaded.reduce((sum, it) => sum + gzipSync(it).length, 0);
    t.ok(bytes < firstPageBytesMax, `${bytes} bytes are fewer than ${firstPageBytesMax}`);
    t.same(await accessibilityProblems(page), []);
    await send({ url: 'http://api.github.com/zen' });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await fillConsoleLab(lab);
  });

  await t.test('a key is minted, shown once, and its call arrives in the list', async (t) => {
    await show('keys');
    await button('Mint a key').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('story');
    await dialog.getByRole('button', { name: 'Mint it' }).click();
    const once = page.getByRole('region', { name: 'The new key' });
    const key = (await once.getByRole('region', { name: 'The text of the key' }).textContent()) ?? '';
    t.match(key, /^iv_live_\w+$/);
    for (const way of ['Node', 'Python', 'Docker']) {
      await once.getByRole('button', { name: way }).click();
      t.ok((await once.getByRole('region', { name: `For ${way}` }).textContent())?.includes(key), way);
    }
    await once.getByRole('link', { name: 'Watch its calls arrive' }).click();
    await shows('No call fits these filters.');
    await show('activity');
    await page.getByText('Live').waitFor();
    await send({ url: 'http://story.test.example/arrived', key });
    await main.getByRole('link', { name: /story\.test\.example\/arrived/ }).waitFor();
    await show('keys');
    t.notOk((await main.textContent())?.includes(key), 'afterwards it is nowhere');
  });

  await t.test('held calls are approved and denied with the keyboard, and end in sight', async (t) => {
    const refund = (payment: string, amount: number) => ({
      method: 'POST',
      url: 'http://api.stripe.com/v1/refunds',
      body: { payment_intent: payment, amount },
    });
    await show('approvals');
    await shows(/5 calls/);
    await shows(/They differ in/);
    await button('Approve once (5)').waitFor();
    await shows(
      /Each of the 5 calls by itself. .*One call, if it comes within \d+ minutes: POST .*exactly this body/,
    );
    t.equal(wentOut('/v1/refunds'), 0);
    await page.keyboard.press('a');
    await shows('5 calls are approved once.');

    await shows(/\$?98000/);
    await page.keyboard.press('d');
    await page.getByLabel(/^Why, for the agent/).fill('Too much.');
    await page.keyboard.press('Enter');
    await shows('The call is denied.');
    const denied = await admin('GET', '/v1/approvals?status=denied');
    t.match(denied.body.items, [{ note: 'Too much.', decided_by: 'admin' }]);

    await send(refund('pi_3000', 7));
    await shows(/pi_3000/);
    await page.keyboard.press('n');
    await page.keyboard.type('Asked the customer.');
    t.same(await accessibilityProblems(page), []);
    await page.keyboard.press('Enter');
    await page.keyboard.press('a');
    await shows('The call is approved once.');
    const approved = await admin('GET', '/v1/approvals?status=approved&limit=1');
    t.match(approved.body.items, [{ note: 'Asked the customer.' }], 'the note is of this call alone');
    t.equal((await send(refund('pi_3000', 7))).status, 200, 'the same call goes out');
    t.equal(wentOut('/v1/refunds'), 1);
    t.equal((await send(refund('pi_3000', 7))).status, 403, 'once');

    const waiting = (await admin('GET', '/v1/approvals?status=pending')).body.items;
    t.equal(waiting.length, 1);
    await shows(/pi_3000/);
    await send(refund('pi_3000', 8));
    await page.locator('article.approval').nth(1).waitFor();
    t.match(await button(/^Approve once/).textContent(), /^Approve once +a$/, 'what comes does not join it');
    await admin('POST', `/v1/approvals/${waiting[0].approval_id}/decision`, { decision: 'denied' });
    await shows(
      'The call that you were looking at was denied by admin. No other is open until you choose it.',
    );
    for (const key of ['a', 'w', 'd', 'j']) await page.keyboard.press(key);
    await page.keyboard.press('d');
    await page.getByLabel(/^Why, for the agent/).fill('Twice.');
    await page.keyboard.press('Enter');
    await shows('The call is denied.');
    await shows('No call waits for a person.');
  });

  await t.test('a trace is found by its reason, and says why and what would let it through', async (t) => {
    await show('activity?reason=NO_DELETES');
    await shows(/2 calls; there are no older ones/);
    await main.getByRole('link', { name: /DELETE .*repos\/acme\/app$/ }).click();
    const detail = page.getByRole('article', { name: 'The chosen call' });
    await detail.getByText('Why it was denied').waitFor();
    await detail.getByText(/Rule "no-delete" of policy "guard"/).waitFor();
    await detail.getByRole('button', { name: 'Make an exception for this call…' }).click();
    await detail.getByText(/, 1 would have been decided otherwise/).waitFor();
    const agentId = (await admin('GET', '/v1/traces?reason=NO_DELETES&limit=1')).body.items[0].agent_id;
    const { key } = await gateway.mint({ default_agent_id: agentId, env_name: 'staging' });
    const again = { method: 'DELETE', url: 'http://api.github.com/repos/acme/app', key };
    await detail.getByRole('button', { name: 'Apply' }).click();
    await detail.getByText('In force from the next call on.').waitFor();
    t.equal((await send(again)).status, 200, 'exactly this call goes out');
    t.equal((await send({ ...again, url: `${again.url}x` })).status, 403, 'and no other');
    await detail.getByRole('button', { name: 'Undo' }).click();
    await detail.getByRole('button', { name: 'Apply' }).waitFor();
    t.equal((await send(again)).status, 403, 'after the undo it is denied again');
  });

  await t.test('a rule is written, simulated, applied, bites, and is rolled back', async (t) => {
    const call = { url: 'http://api.github.com/repos/acme/app/issues/101' };
    await show('policies/guard');
    const editor = page.getByLabel('The policy, as YAML or JSON');
    const standing = await editor.inputValue();
    await editor.fill(
      `${standing}  - rule_id: no-issues\n    match: { methodss: [GET] }\n    action: DENY\n`,
    );
    await shows(/^Line \d+:/);
    await shows(/did you mean methods/);
    await editor.fill(
      `${standing}  - rule_id: no-issues\n    match: { operations: [get_issue] }\n    action: DENY\n`,
    );
    await button('Simulate on the last 24 hours').click();
    await shows(/would have been decided otherwise/);
    await button('Apply').first().click();
    await shows(/^Version \d+ is in force/);
    t.equal((await send(call)).status, 403, 'it bites');
    const versions = page.getByRole('region', { name: 'Versions, newest first' });
    await versions.getByRole('button', { name: 'Compare' }).first().click();
    await page.getByRole('button', { name: /^Roll back to version/ }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    t.equal((await send(call)).status, 200, 'after the roll-back it goes out');
  });

  await t.test('words are completed at the cursor, with the keyboard', async (t) => {
    await show('policies/new');
    const editor = page.getByLabel('The policy, as YAML or JSON');
    await editor.fill('name: typed\nrules:\n  - rule_id: a\n    ');
    await editor.press('End');
    await page.keyboard.type('ac');
    const offered = page.getByRole('listbox', { name: 'Words that fit here' });
    await offered.getByRole('option', { name: 'action:' }).waitFor();
    t.same(await accessibilityProblems(page), []);
    await page.keyboard.press('Enter');
    await offered.getByRole('option', { name: 'ALLOW' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await offered.waitFor({ state: 'detached' });
    t.match(await editor.inputValue(), /\n {4}action: DENY$/);
    await page.keyboard.type('\n    ');
    await page.keyboard.press('Control+Space');
    await offered.getByRole('option', { name: 'match:' }).waitFor();
    await page.keyboard.press('Escape');
    await offered.waitFor({ state: 'detached' });
  });

  await t.test('trust has a trend, a value its origin, and what was taken out its place', async (t) => {
    const { items } = (await admin('GET', '/v1/traces?reason=NO_DELETES&limit=1')).body;
    await show(`agents/${items[0].agent_id}`);
    await page.getByRole('img', { name: /^Trust over time: 1\.00, 0\.\d\d/ }).waitFor();
    await show('settings');
    await shows(/^line \d+$/);
    const sanitized = (await consolePages(lab)).find((it) => it.name === 'sanitized');
    await show(sanitized?.place ?? '');
    const request = page.getByRole('region', { name: 'The request, with what was found in its place' });
    await request.locator('.added').first().waitFor();
    t.match(await request.textContent(), /- +"\w+": •+\n.*\+ +"\w+": \[REDACTED:/s);
  });

  await t.test('an agent is suspended and reactivated', async (t) => {
    await show(`agents/${gateway.agentId}`);
    await button('Suspend').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await button('Reactivate').waitFor();
    t.equal((await send({ url: 'http://api.github.com/zen' })).status, 403);
    await button('Reactivate').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reactivate' }).click();
    await button('Suspend').waitFor();
    t.equal((await send({ url: 'http://api.github.com/zen' })).status, 200);
  });

  await t.test('an incident is looked into, and the audit log verified', async () => {
    await show('incidents');
    await main.getByRole('link', { name: 'Release bot deletes repositories' }).click();
    await page.getByLabel('Note').fill('It was the new release job.');
    await button('Add the note').click();
    await shows('It was the new release job.');
    await button('Begin to investigate').click();
    await shows(/moved it from open to investigating/);
    await page.getByLabel('Close it as').selectOption('false positive');
    await button('Close the incident').click();
    await shows(/moved it from investigating to closed: false positive/);
    await show('audit');
    await button('Verify the log').click();
    await shows(/entries, none altered or missing/);
  });

  await t.test('what agents write runs nowhere', async (t) => {
    const asked = {
      method: 'POST',
      url: `http://evil.test.example/${encodeURIComponent(script)}?q=${script}`,
      headers: { 'x-note': script, 'user-agent': script },
      body: { text: script, token: script },
      agent_name: script,
      runtime_type: script.slice(0, 60),
      context: script,
    };
    const { status, body } = await gateway.api('POST', '/v1/scan', asked);
    t.equal(status, 200, body.detail);
    await gateway.mint({ name: script, description: script });
    const { agent_id } = (await admin('GET', '/v1/agents?limit=1')).body.items[0];
    await admin('PATCH', `/v1/agents/${agent_id}`, { name: script });
    await admin('POST', '/v1/incidents', { agent_id, title: script, note: script });
    await send({
      method: 'POST',
      url: 'http://api.stripe.com/v1/refunds',
      body: { text: script, amount: 1 },
    });
    const places = [
      'overview',
      `activity/${body.trace_id}`,
      'approvals',
      'incidents',
      'agents',
      `agents/${agent_id}`,
      'keys',
      'audit',
    ];
    for (const place of places) {
      await show(place);
      await shows(/onerror|evil\.test\.example/);
    }
    t.equal(await page.evaluate(() => 'ran' in globalThis), false);
  });

  await t.test(
    'an address that means nothing, or a page that fails, leaves the way to the others',
    async (t) => {
      for (const place of ['__proto__', 'constructor', 'toString/x']) {
        await show(place);
        await shows('There is no such page');
      }
      await show('overview?range=constructor');
      await shows('Calls per minute');
      const other = await openTab(browser, gateway.controlUrl);
      await other.signIn(gateway.adminSecret);
      await other.page.route('**/v1/agents?**', (route) => route.fulfill({ json: { items: [null] } }));
      await other.show('agents');
      await other.page.getByRole('heading', { name: 'This page has failed' }).waitFor();
      t.equal(other.complaints.length, 1, 'the browser is told');
      await other.show('policies');
      await other.page.getByRole('link', { name: 'guard' }).waitFor();
      await other.page.route('**/assets/feeds-*', (route) => route.abort());
      await other.show('feeds');
      await other.page.getByText('This part of the console cannot be loaded.').waitFor();
      await other.page.context().close();
    },
  );

  await t.test('what an upstream answers is no page of the console', async (t) => {
    const theirs = await page.context().newPage();
    await theirs.goto(new URL('/inbound/page/their-page', gateway.controlUrl).href);
    t.match(
      await theirs.locator('body').textContent(),
      /a browser may not show what an inbound route brings/,
    );
    // As a browser that says nothing of what it wants.
    const front = await startFront(t, gateway.controlUrl);
    await theirs.goto(`${front}/inbound/page/their-page`);
    t.equal(await theirs.title(), 'theirs', 'it is shown');
    t.same(await theirs.evaluate("[self.origin, 'ran' in globalThis]"), ['null', false]);
    await theirs.close();
  });

  await t.test('a long list is read and drawn in parts, and what comes in moves nothing', async (t) => {
    const scan = (i: number) =>
      gateway.api('POST', '/v1/scan', { method: 'GET', url: `http://long.test.example/${i}` });
    for (let i = 0; i < 250; i += 50) await Promise.all(Array.from({ length: 50 }, (_, j) => scan(i + j)));
    const listed = async (count = 0, cursor?: string): Promise<number> => {
      const from = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await gateway.api('GET', `/v1/traces?q=long.test.example&limit=100${from}`);
      const soFar = count + body.items.length;
      return body.next_cursor === null ? soFar : listed(soFar, body.next_cursor);
    };
    await until('all of them are stored', async () => (await listed()) === 250);
    await show('activity?q=long.test.example');
    await main
      .getByRole('link', { name: /long\.test\.example/ })
      .first()
      .waitFor();
    const list = page.getByRole('region', { name: 'Calls, newest first' });
    const toEnd = () => list.evaluate((it) => it.scrollTo(0, it.scrollHeight));
    const end = main.getByText('250 calls; there are no older ones.');
    await until('all pages were read', async () => {
      await toEnd();
      return (await end.count()) === 1;
    });
    await toEnd();
    const rows = list.locator('tr[data-row]');
    t.ok((await rows.count()) < 100, 'few rows are in the document');
    // Where it was scrolled to is drawn a moment later.
    let last = '';
    await until('the end of the list is drawn', async () => {
      const before = last;
      last = (await rows.last().textContent()) ?? '';
      const box = await rows.last().boundingBox();
      return last === before && box !== null && box.y < (page.viewportSize()?.height ?? 0);
    });
    await scan(250);
    await button(/^1 new call/).waitFor();
    t.equal(
      (await rows.last().textContent())?.replace(/^.*(?=Allowed)/, ''),
      last.replace(/^.*(?=Allowed)/, ''),
    );
    await button(/^1 new call/).click();
    await main.getByRole('link', { name: /long\.test\.example\/250$/ }).waitFor();
    for (let i = 0; i < 40; i += 1) await page.keyboard.press('j');
    const chosen = list.locator('tr.chosen');
    await until('the call that the keys led to is in sight', async () => {
      const [box, frame] = [await chosen.boundingBox(), await list.boundingBox()];
      return box !== null && frame !== null && box.y > frame.y && box.y + box.height < frame.y + frame.height;
    });
    await page.goBack();
    await chosen.waitFor({ state: 'detached' });
  });

  await t.test('a call that comes after the list was read and before it is followed is in it', async () => {
    const beforeStream = async (stream: { continue(): Promise<void> }): Promise<void> => {
      await gateway.api('POST', '/v1/scan', { method: 'GET', url: 'http://between.test.example/' });
      await until('it is stored', async () => {
        const { body } = await gateway.api('GET', '/v1/traces?q=between.test.example');
        return body.items.length === 1;
      });
      await stream.continue();
    };
    await show('overview');
    await page.route('**/v1/traces/stream*', beforeStream, { times: 1 });
    await show('activity');
    await main.getByRole('link', { name: /between\.test\.example/ }).waitFor();
  });

  await t.test('an auditor sees, and changes nothing', async (t) => {
    const { key } = await gateway.mint({
      name: 'auditor',
      permissions: ['activity:read', 'policies:read', 'keys:read'],
    });
    const other = await openTab(browser, gateway.controlUrl);
    await other.signIn(key);
    await other.show('keys');
    await other.page.getByRole('link', { name: 'release, staging' }).waitFor();
    t.equal(await other.page.getByRole('button', { name: 'Mint a key' }).count(), 0);
    const pages = other.page.getByRole('navigation', { name: 'Pages' });
    t.equal(await pages.getByRole('link', { name: 'Routes and credentials' }).count(), 0);
    await other.show('routes');
    await other.page.getByText('The key lacks the permission "credentials:write".').waitFor();
    t.equal(await other.page.getByRole('button', { name: 'Try again' }).count(), 0);
    const tried = await other.page.evaluate(`(async () => {
      const session = await (await fetch('../v1/console/sessions/current')).json();
      const ask = async (path, body) => {
        const headers = { 'content-type': 'application/json', 'x-postern-csrf': session.csrf_token };
        const answer = await fetch('..' + path, { method: 'POST', headers, body: JSON.stringify(body) });
        return [answer.status, (await answer.json()).code];
      };
      return {
        role: session.role,
        suspend: await ask('/v1/agents/${gateway.agentId}/suspend', {}),
        policy: await ask('/v1/policies/apply', { name: 'x', rules: [{ rule_id: 'x', action: 'ALLOW' }] }),
      };
    })()`);
    t.same(tried, { role: 'auditor', suspend: [403, 'FORBIDDEN'], policy: [403, 'FORBIDDEN'] });
    t.same(other.complaints, []);
    await other.page.context().close();
  });

  const wide = { width: 1280, height: 800 };
  const narrow = { width: 390, height: 844 };
  /** Shows each page, and waits until it stands still. */
  const eachPage = async (look: (place: string) => Promise<void>): Promise<void> => {
    for (const { place, text } of await consolePages(lab)) {
      await show(place);
      await shows(text);
      // Colours that are on their way to others have the contrast of neither.
      await until(
        'nothing moves',
        async () => (await page.evaluate('document.getAnimations().length')) === 0,
      );
      await look(place);
    }
  };

  await t.test('every page can be used by everybody, and fits a narrow screen', async (t) => {
    await page.emulateMedia({ colorScheme: 'light' });
    await eachPage(async (place) => {
      t.same(await accessibilityProblems(page), [], place);
      await page.setViewportSize(narrow);
      const width = () => page.evaluate('document.documentElement.scrollWidth');
      // Charts are drawn anew a moment after the window has changed.
      for (let tries = 0; tries < 100 && (await width()) !== narrow.width; tries += 1)
        await page.waitForTimeout(50);
      t.equal(await width(), narrow.width, place);
      await page.setViewportSize(wide);
    });
  });

  await t.test('the dark colours of every page can be told apart, too', async (t) => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await eachPage(async (place) => {
      t.same(await accessibilityProblems(page, rulesOfColours), [], place);
    });
  });

  await t.test('on a narrow screen the menu leads to all pages', async (t) => {
    await page.setViewportSize(narrow);
    await page.getByRole('button', { name: /^Menu/ }).click();
    const pages = page.getByRole('navigation', { name: 'Pages' });
    t.same(await accessibilityProblems(page), []);
    await pages.getByRole('link', { name: 'Approvals' }).click();
    await pages.waitFor({ state: 'hidden' });
    t.same(await accessibilityProblems(page), []);
    await page.setViewportSize(wide);
  });

  await t.test('what was written outlives the session in which it was', async (t) => {
    await show('policies/new');
    const editor = page.getByLabel('The policy, as YAML or JSON');
    const text = 'name: kept\nrules:\n  - rule_id: kept\n    action: DENY\n';
    await editor.fill(text);
    await show('overview');
    await shows('Calls per minute');
    await show('policies/new');
    t.equal(await editor.inputValue(), text, 'on the way to another page');
    for (const it of (await admin('GET', '/v1/console/sessions')).body.items)
      await admin('DELETE', `/v1/console/sessions/${it.session_id}`);
    await button('Simulate on the last 24 hours').click();
    await page.getByText('Your session has ended.').waitFor();
    t.same(await accessibilityProblems(page), []);
    await page.getByLabel('Secret or key').fill(gateway.adminSecret);
    await page.keyboard.press('Enter');
    await editor.waitFor();
    t.equal(await editor.inputValue(), text, 'and over the end of a session');
  });

  await t.test('a name that does not end pushes no call out of sight', async (t) => {
    const headers = { 'x-service-agent-name': 'a-name-that-does-not-end-'.repeat(5) };
    const body = { payment_intent: 'pi_3000', amount: 1200 };
    await send({ method: 'POST', url: 'http://api.stripe.com/v1/refunds', body, headers });
    await show('overview');
    const call = main.getByRole('link', { name: 'POST http://api.stripe.com/v1/refunds' }).first();
    await call.waitFor();
    const name = main.locator('.waiting').getByText('a-name-that-does-not-end').first();
    await name.waitFor();
    const [box, below] = [await call.boundingBox(), await name.boundingBox()];
    t.ok(box && below && box.width > 200 && below.y > box.y, JSON.stringify([box, below]));
  });

  await t.test('signing out ends the session', async () => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Secret or key').waitFor();
    await page.reload();
    await page.getByLabel('Secret or key').waitFor();
  });

  t.same(tab.complaints, [], 'the browser had nothing to complain of');
});

t.test('the admin secret looks at one tenant after another', async (t) => {
  const executablePath = needProgram(t, 'chromium');
  if (!executablePath) return;
  const other = { id: 'globex', name: 'Globex Inc', environments: ['default'] };
  const { gateway } = await startConsoleLab(t, {
    tenants: [{ id: 'acme', environments: ['production', 'staging'] }, other],
  });
  const ofOther = { agent_id: crypto.randomUUID(), title: 'Only of Globex', tenant_id: other.id };
  const bearer = `Bearer ${gateway.adminSecret}`;
  await gateway.api(
    'POST',
    '/v1/keys',
    { name: 'globex', default_agent_id: ofOther.agent_id, tenant_id: other.id },
    bearer,
  );
  t.equal((await gateway.api('POST', '/v1/incidents', ofOther, bearer)).status, 201);
  const { page, complaints } = await openTab(await launchBrowser(t, executablePath), gateway.controlUrl);
  await builtPage(gateway.controlUrl);
  await page.goto(new URL('/console/#/incidents', gateway.controlUrl).href);
  await page.getByLabel('Secret or key').waitFor();
  await page.keyboard.type(gateway.adminSecret);
  await page.keyboard.press('Enter');
  await page.getByLabel('There are several tenants.').waitFor();
  await page.keyboard.type('acme');
  await page.keyboard.press('Enter');
  await page.getByText('There is no incident.').waitFor();
  await page.getByLabel('Tenant').selectOption(other.name);
  await page.getByRole('link', { name: ofOther.title }).click();
  await page.getByLabel('Note').fill('Seen.');
  await page.getByRole('button', { name: 'Add the note' }).click();
  await page.getByRole('main').getByText('Seen.').waitFor();
  await page.getByLabel('Tenant').selectOption('acme');
  await page.getByText('There is no incident.').waitFor();
  t.same(complaints, []);
});
