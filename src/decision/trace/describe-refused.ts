import type { Call } from '../../core/call.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import { headLocator, headText } from '../../inspect/parts/head-text.ts';
import { readPart } from '../../inspect/read-part.ts';
import type { MaybePromise } from '../../state/store.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import type { PolicyBook } from '../../tenants/policy-book.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { after } from '../../util/maybe-promise.ts';
import { understandCall } from '../stages/understand.ts';

/** Fills in what the head tells of a call that was refused before it was read, so that its trace can say it. Never rejects. */
export type DescribeRefused = (call: Call) => MaybePromise<void>;

/** Who is refused pays for nothing, so a longer head is not read for him: then the trace has the origin alone. */
export const headCharsMax = 16_384;

export interface DescribeRefusedOptions {
  readonly catalogues: Catalogues;
  readonly policies: Pick<PolicyBook, 'rulesFor' | 'lastKnown'>;
  readonly tenants: Pick<Tenants, 'find'>;
  /** How long was worked, in milliseconds: see `workedMs`. */
  readonly clock: () => number;
}

export function createDescribeRefused(options: DescribeRefusedOptions): DescribeRefused {
  const { catalogues, policies, tenants, clock } = options;

  /** A head that cannot be read to its end stays unread: nobody knows what is in it. */
  function readHead(call: Call, engine: DetectorEngine): void {
    const tenant = tenants.find(call.identity?.tenantId ?? '');
    const text = headText(call);
    if (!tenant || text.length > headCharsMax) return;
    const endsAt = clock() + tenant.scanTimeoutMs;
    const bounds = { maxDecodedBytes: tenant.maxDecodedBytes, isOver: () => clock() > endsAt };
    const bytes = Buffer.from(text, 'latin1');
    const { findings, unreadable } = readPart(
      {
        ...{ name: 'head', bytes, format: 'head', host: call.target.host },
        locator: (hidden) => headLocator(call, hidden),
      },
      engine,
      bounds,
    );
    if (unreadable !== undefined) return;
    call.head = bytes;
    call.findings = [...findings];
    if (!call.operation) understandCall(catalogues.of(tenant.id), call, tenant.maxDecodedBytes);
  }

  return function describeRefused(call) {
    const { identity } = call;
    if (!identity || call.head.length > 0) return;
    try {
      const page = policies.lastKnown(identity.tenantId) ?? policies.rulesFor(identity.tenantId);
      const described = after(page, ({ engine }) => readHead(call, engine));
      // Where the rules cannot be had, the trace has the origin, and the refusal stands.
      return described instanceof Promise ? described.catch(() => undefined) : undefined;
    } catch {
      return undefined;
    }
  };
}
