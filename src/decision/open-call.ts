import type { Identity, ReceivedCall } from '../core/call.ts';
import type { ReadingTools } from '../inspect/read-body.ts';
import { lostReading, type Readers } from '../inspect/threads/readers.ts';
import type { MaybePromise, Store } from '../state/store.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { after } from '../util/maybe-promise.ts';

/**
 * Takes the coding off a call's body in a thread, before anybody asks for the body. `identity` is the caller,
 * where that is known.
 */
export type OpenCall = (call: ReceivedCall, identity?: Identity) => MaybePromise<void>;

interface OpenOptions {
  readonly readers: Readers;
  readonly tools: ReadingTools;
  readonly store: Pick<Store, 'recall'>;
  readonly tenants: Pick<Tenants, 'largestMaxDecodedBytes'>;
}

const openMsMax = 1_000;
const noBytes = Buffer.alloc(0);
/** The owner of calls whose caller nobody knows yet. They have one turn together. */
const stranger = { tenantId: '', agentId: '' };

export function createOpener({ readers, tools, store, tenants }: OpenOptions): OpenCall {
  return function open({ body, contentEncoding, key, receivedAtMs, readings }, identity) {
    if (!readers.hasThreads || contentEncoding === '' || body.length === 0 || readings.plain) return;
    const known =
      identity || !key ? undefined : store.recall(key.hash, receivedAtMs, Number.POSITIVE_INFINITY);
    const opened = readers.run(
      'open',
      { body, contentEncoding },
      {
        tools,
        bounds: { maxDecodedBytes: tenants.largestMaxDecodedBytes, isOver: () => false },
        timeoutMs: openMsMax,
        owner: identity ?? (known?.ok ? known.identity : stranger),
        bytes: body.length,
      },
    );
    return after(opened, (it) => {
      if ('body' in it) {
        readings.plain = it.body;
        return;
      }
      const { unreadable, isOutOfTime } = 'lost' in it ? lostReading(it) : { ...it, isOutOfTime: false };
      readings.plain = noBytes;
      readings.unreadable ??= unreadable;
      readings.isOutOfTime ||= isOutOfTime;
    });
  };
}
