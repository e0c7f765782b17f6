import type { Catalogue } from '../../catalogue/catalogue.ts';
import { destinationOf } from '../../catalogue/destination.ts';
import { ClassifiedCall, isTunnel, type ReceivedCall, type UnadmittedCall } from '../../core/call.ts';
import type { MaybePromise, Store } from '../../state/store.ts';
import type { Catalogues } from '../../tenants/catalogues.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { after } from '../../util/maybe-promise.ts';
import { identifyOrRecall } from '../degraded.ts';
import type { OpenCall } from '../open-call.ts';
import type { Stage } from '../pipeline.ts';
import { toRequest } from '../request.ts';

export interface ClassifyOptions {
  readonly catalogues: Catalogues;
  readonly store: Store;
  readonly tenants: Tenants;
  /** Takes the coding off the body. By default that is done when somebody asks for the body. */
  readonly open?: OpenCall;
}

/**
 * Creates the stage that finds out what a call does. The catalogue names tool, operation, verb, resource and
 * principals, unless the entrance knows them already, as for messages between agents. It never decides. It
 * asks the state for the tenant of a key only where tenants have tools of their own and the key was not seen
 * before.
 */
export function classify(options: ClassifyOptions): Stage<UnadmittedCall, ClassifiedCall> {
  const { catalogues, store, tenants, open } = options;
  const { common, own, of } = catalogues;
  const { largestMaxDecodedBytes } = tenants;

  /**
   * Returns the catalogue of the key's tenant. What was known of a key still holds, since a key never goes to
   * another tenant. Admission refuses unknown keys, whatever their calls do.
   */
  function catalogueOf({ key, receivedAtMs }: ReceivedCall): MaybePromise<Catalogue> {
    if (own.size === 0 || !key) return common;
    const known = store.recall(key.hash, receivedAtMs, Number.POSITIVE_INFINITY);
    if (known?.ok) return of(known.identity.tenantId);
    return after(identifyOrRecall({ store, tenants }, key.hash, receivedAtMs), (it) =>
      it.ok ? of(it.identity.tenantId) : common,
    );
  }

  return {
    name: 'classify',
    run(call) {
      if (call instanceof ClassifiedCall) return call;
      return after(open?.(call), () =>
        after(catalogueOf(call), (it) => classifyOperation(it, call, largestMaxDecodedBytes)),
      );
    },
  };
}

/** Names the operation of a call by the catalogue. */
export function classifyOperation(
  catalogue: Catalogue,
  call: ReceivedCall,
  maxDecodedBytes: number,
): ClassifiedCall {
  const operation = isTunnel(call)
    ? catalogue.understandTunnel(call.target)
    : catalogue.understand(toRequest(call, maxDecodedBytes));
  return new ClassifiedCall(call, operation, destinationOf(operation, call.target));
}

/**
 * Classifies a call for entrances that know the tool. `below` is the path below the place that stands for the
 * tool.
 */
export function classifyAs(
  catalogue: Catalogue,
  call: ReceivedCall,
  maxDecodedBytes: number,
  { toolName, below }: { readonly toolName: string; readonly below: string },
): ClassifiedCall {
  const operation = catalogue.understandAs(toolName, below, toRequest(call, maxDecodedBytes));
  return new ClassifiedCall(call, operation, destinationOf(operation, call.target));
}
