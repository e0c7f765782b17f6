import type { Call } from '../../call.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { destinationOf } from '../../catalogue/destination.ts';
import type { Stage } from '../pipeline.ts';
import { toRequest } from '../request.ts';

/**
 * What does it do? The catalogue names tool, operation, verb, resource and principals, unless the entrance knows them already, as for
 * messages between agents. No I/O; never decides.
 */
export function understand(catalogue: Catalogue, maxDecodedBytes: number): Stage {
  return {
    name: 'understand',
    run(call) {
      if (call.operation) return;
      const operation = catalogue.understand(toRequest(call, maxDecodedBytes));
      call.operation = operation;
      call.destination = destinationOf(operation, call.target);
    },
  };
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
