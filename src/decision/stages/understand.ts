import type { Catalogue } from '../../catalogue/catalogue.ts';
import { destinationOf } from '../../catalogue/destination.ts';
import { type Call, isTunnel } from '../../core/call.ts';
import type { MaybePromise, Store } from '../../state/store.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { after } from '../../util/maybe-promise.ts';
import { identifyOrRecall } from '../degraded.ts';
import type { OpenCall } from '../open-call.ts';
import type { Stage } from '../pipeline.ts';
import { toRequest } from '../request.ts';

export interface UnderstandOptions {
  readonly catalogues: Catalogues;
  readonly store: Store;
  readonly tenants: Tenants;
  /** Takes the coding off the body; by default when somebody asks for it. */
  readonly open?: OpenCall;
}

/**
 * What does it do? The catalogue names tool, operation, verb, resource and principals, unless the entrance knows them already, as for
 * messages between agents. Never decides. The state is asked whose call it is only where tenants have tools of their own and the key was
 * not seen before.
 */
export function understand({ catalogues, store, tenants, open }: UnderstandOptions): Stage {
  const { common, own, of } = catalogues;
  const { largestMaxDecodedBytes } = tenants;

  /** A key never goes to another tenant. One that nobody knows is refused at admission, whatever its call does. */
  function catalogueOf({ key, receivedAtMs }: Call): MaybePromise<Catalogue> {
    if (own.size === 0 || !key) return common;
    const known = store.recall(key.hash, receivedAtMs, Number.POSITIVE_INFINITY);
    if (known?.ok) return of(known.identity.tenantId);
    return after(identifyOrRecall({ store, tenants }, key.hash, receivedAtMs), (it) =>
      it.ok ? of(it.identity.tenantId) : common,
    );
  }

  return {
    name: 'understand',
    run(call) {
      if (call.operation) return;
      return after(open?.(call), () =>
        after(catalogueOf(call), (it) => understandCall(it, call, largestMaxDecodedBytes)),
      );
    },
  };
}

export function understandCall(catalogue: Catalogue, call: Call, maxDecodedBytes: number): void {
  const operation = isTunnel(call)
    ? catalogue.understandTunnel(call.target)
    : catalogue.understand(toRequest(call, maxDecodedBytes));
  call.operation = operation;
  call.destination = destinationOf(operation, call.target);
}

/** For entrances that know the tool, whatever the host: `below` is the path below the place that stands for the tool's own hosts. */
export function understandAs(
  catalogue: Catalogue,
  call: Call,
  maxDecodedBytes: number,
  { toolName, below }: { readonly toolName: string; readonly below: string },
): void {
  const operation = catalogue.understandAs(toolName, below, toRequest(call, maxDecodedBytes));
  call.operation = operation;
  call.destination = destinationOf(operation, call.target);
}
