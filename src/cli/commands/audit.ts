import type { Command } from 'commander';
import type { Listing, ShownAuditEntry, Usage } from '../../api/answers.ts';
import { parseEntry, type StoredEntry, toStoredEntry, verifyChain } from '../../state/rules/audit-entry.ts';
import type { AuditCheck } from '../../state/store.ts';
import { command, listCommand, type PageOptions, showList } from '../ask.ts';
import { type Client, type CommonOptions, isAnswering, openClient } from '../connection/client.ts';
import { note, print, printable, toJson } from '../output.ts';

interface VerifyOptions extends CommonOptions {
  readonly head?: string;
}

interface ListOptions extends PageOptions {
  readonly kind?: string;
  readonly subject?: string;
}

const columns = ['seq', 'at', 'kind', 'operator', 'subject', 'details'];

const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** The log of one tenant, read through the daemon or from the state. */
type AuditLog = Awaited<ReturnType<typeof openAnswered>>;

/**
 * Adds `postern audit`, which shows the hash-chained log. If the daemon is down, the state itself is read.
 */
export function addAudit(program: Command): void {
  const group = program
    .command('audit')
    .description('the log of who did what, each entry with the hash of the one before');

  command(group, 'verify', 'recompute the chain; fails with the first entry that is missing or altered')
    .option('--head <hash>', 'a head that was kept elsewhere; fails where no entry has it')
    .action(async (_options: unknown, verify: Command) => {
      const options = verify.optsWithGlobals<VerifyOptions>();
      const { head } = options;
      if (head !== undefined && !isHash(head))
        return verify.error('error: a head has 64 hexadecimal digits, as "audit verify" prints it', {
          exitCode: 2,
        });
      let place: string | undefined;
      for await (const { tenantId, ...log } of openLogs(options)) {
        const checked = await log.verify();
        if (!checked.ok) process.exitCode = 1;
        await print(
          `${options.json ? toJson({ tenant_id: tenantId, ...checked }) : toSentence(tenantId, checked)}\n`,
        );
        if (head === undefined) continue;
        for await (const { seq, hash } of log.entries())
          if (hash === head) place = `${tenantId}: entry ${seq}`;
      }
      if (head === undefined) return;
      if (place === undefined)
        throw new Error('no entry has the head that was kept: the log was cut off, or written anew.');
      note(`${place} has the head that was kept; the log goes on from there.`);
    });

  listCommand(group, 'who did what, newest first')
    .option('--kind <name>', 'of this kind, as key.revoked')
    .option('--subject <id>', 'about this key, agent, approval or policy')
    .action(
      showList<ListOptions, ShownAuditEntry>('/v1/audit', columns, {
        query: ({ kind, subject }) => ({ kind, subject }),
        toRow: (entry) => ({ ...entry, details: toJson(entry.details) }),
      }),
    );

  command(group, 'export', 'write the log to standard output, oldest first, one JSON object a line').action(
    async (_options: unknown, exports: Command) => {
      for await (const { entries } of openLogs(exports.optsWithGlobals<CommonOptions>()))
        for await (const entry of entries()) await print(`${toJson(entry)}\n`);
    },
  );
}

const toSentence = (tenantId: string, checked: AuditCheck): string =>
  checked.ok
    ? `${tenantId}: ${checked.entries} entries, none altered or missing; head ${checked.head}`
    : `${tenantId}: entry ${checked.seq} is ${checked.problem}.`;

/** Opens one tenant's log through the daemon, or all from the state if none answers. */
async function* openLogs(options: CommonOptions): AsyncGenerator<AuditLog> {
  if (options.url !== undefined || (await isAnswering(options))) yield await openAnswered(options);
  else {
    note('No daemon answers; the state itself is read.');
    yield* openStored(options);
  }
}

async function openAnswered(options: CommonOptions) {
  const client = await openClient(options);
  const newest = await client.get<Listing<ShownAuditEntry>>(url, { limit });
  // An empty log does not name its tenant.
  const tenantId = newest.items[0]?.tenant_id ?? (await client.get<Usage>('/v1/usage')).tenant_id;
  /** Yields the entries, oldest first. */
  const entries = () => oldestFirst(client, newest);
  return {
    tenantId,
    entries,
    // The chain is recomputed here, so that the daemon need not be believed.
    verify: () => verifyChain(tenantId, storedOf(entries()), (_row, { seq }) => seq),
  };
}

async function* openStored({ config, tenant }: CommonOptions): AsyncGenerator<AuditLog> {
  const { openStoredState } = await import('../stored-state.ts');
  const { store, tenantIds } = await openStoredState(config);
  try {
    if (tenant !== undefined && !tenantIds.includes(tenant))
      throw new Error(`there is no tenant ${printable(tenant)}; the state has ${tenantIds.join(', ')}.`);
    for (const tenantId of tenant === undefined ? tenantIds : [tenant])
      yield {
        tenantId,
        entries: () => publicOf(store.exportAudit(tenantId)),
        verify: () => store.verifyAudit(tenantId),
      };
  } finally {
    await store.close();
  }
}

const url = '/v1/audit';
const limit = '1000';

/** Yields entries, oldest first. Pages come newest first, so all cursors are noted before they are used. */
async function* oldestFirst(
  client: Client,
  newest: Listing<ShownAuditEntry>,
): AsyncGenerator<ShownAuditEntry> {
  const places: string[] = [];
  for (let cursor = newest.next_cursor; cursor !== null; ) {
    places.push(cursor);
    ({ next_cursor: cursor } = await client.get<Listing<ShownAuditEntry>>(url, { limit, cursor }));
  }
  for (const cursor of places.reverse()) {
    const { items } = await client.get<Listing<ShownAuditEntry>>(url, { limit, cursor });
    yield* items.toReversed();
  }
  yield* newest.items.toReversed();
}

async function* storedOf(entries: AsyncIterable<ShownAuditEntry>): AsyncGenerator<StoredEntry> {
  for await (const { tenant_id: tenantId, at, seq, previous, hash, ...fields } of entries) {
    const event = { ...fields, tenantId, atMs: Date.parse(at) };
    yield { entry: toStoredEntry(event, seq, previous).entry, hash };
  }
}

async function* publicOf(rows: AsyncIterable<StoredEntry>): AsyncGenerator<ShownAuditEntry> {
  const { showAuditEntry } = await import('../../api/audit-entry.ts');
  for await (const row of rows) {
    const entry = parseEntry(row);
    if (!entry) throw new Error('an entry is none any more; "postern audit verify" says which.');
    yield showAuditEntry(entry);
  }
}
