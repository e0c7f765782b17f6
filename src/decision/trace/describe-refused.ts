import type { CallSoFar, ClassifiedCall, Finding, Identity, ReceivedCall } from '../../core/call.ts';
import type { DetectorEngine } from '../../inspect/match/engine.ts';
import { headLocator, headText } from '../../inspect/parts/head-text.ts';
import { readPart } from '../../inspect/read-part.ts';
import type { MaybePromise } from '../../state/store.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import type { PolicyBook } from '../../tenants/policy-book.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { after, orElse } from '../../util/maybe-promise.ts';
import { classifyOperation } from '../stages/classify.ts';

/** The head of a refused call, as it was read for its trace, and the operation that it tells of. */
export interface RefusedDescription extends Partial<Pick<ClassifiedCall, 'operation' | 'destination'>> {
  readonly head: Buffer;
  readonly findings: readonly Finding[];
}

/**
 * Reads the head of a call that was refused before it was inspected, so that its trace can say what the call
 * was. Returns undefined where it was inspected, or cannot be read. Never rejects.
 */
export type DescribeRefused = (
  call: CallSoFar,
  identity: Identity,
) => MaybePromise<RefusedDescription | undefined>;

/**
 * The longest head that is read for a refused call, because its caller pays nothing. The trace of a longer
 * one has only the origin.
 */
const headCharsMax = 16_384;

interface DescribeRefusedOptions {
  readonly catalogues: Catalogues;
  readonly policies: Pick<PolicyBook, 'rulesFor' | 'lastKnown'>;
  readonly tenants: Pick<Tenants, 'find'>;
  /** Returns the time that was worked, in milliseconds (`workedMs`). */
  readonly clock: () => number;
}

export function createDescribeRefused(options: DescribeRefusedOptions): DescribeRefused {
  const { catalogues, policies, tenants, clock } = options;

  /**
   * Reads the head of a call. A head that cannot be read to its end stays unread, because nobody knows what
   * is in it.
   */
  function readHead(
    received: ReceivedCall,
    isClassified: boolean,
    { tenantId }: Identity,
    engine: DetectorEngine,
  ): RefusedDescription | undefined {
    const tenant = tenants.find(tenantId);
    const text = headText(received);
    if (!tenant || text.length > headCharsMax) return undefined;
    const endsAt = clock() + tenant.scanTimeoutMs;
    const bounds = { maxDecodedBytes: tenant.maxDecodedBytes, isOver: () => clock() > endsAt };
    const head = Buffer.from(text, 'latin1');
    const { findings, unreadable } = readPart(
      {
        ...{ name: 'head', bytes: head, format: 'head', host: received.target.host },
        locator: (hidden) => headLocator(received, hidden),
      },
      engine,
      bounds,
    );
    if (unreadable !== undefined) return undefined;
    if (isClassified) return { head, findings };
    const { operation, destination } = classifyOperation(
      catalogues.of(tenant.id),
      received,
      tenant.maxDecodedBytes,
    );
    return { head, findings, operation, destination };
  }

  return function describeRefused({ received, operation, inspection }, identity) {
    if (inspection && inspection.head.length > 0) return undefined;
    // If the rules cannot be had, the trace has the origin, and the refusal stands.
    return orElse(
      () =>
        after(policies.lastKnown(identity.tenantId) ?? policies.rulesFor(identity.tenantId), ({ engine }) =>
          readHead(received, operation !== undefined, identity, engine),
        ),
      () => undefined,
    );
  };
}
