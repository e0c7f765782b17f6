import type { Catalogue } from '../../catalogue/catalogue.ts';
import { destinationOf } from '../../catalogue/destination.ts';
import { bodyValue, plainBody } from '../body.ts';
import { structuredBytesMax } from '../body-structure.ts';
import type { Stage } from '../pipeline.ts';

/**
 * What does it do? The catalogue names tool, operation, verb, resource and principals, unless the entrance knows them already, as for
 * messages between agents. No I/O; never decides.
 */
export function understand(catalogue: Catalogue, maxDecodedBytes: number): Stage {
  return {
    name: 'understand',
    run(call) {
      if (call.operation) return;
      const operation = catalogue.understand({
        method: call.method,
        target: call.target,
        headers: call.headers,
        contentType: call.contentType,
        bodyText: () => plainBody(call, maxDecodedBytes).toString('utf8', 0, structuredBytesMax),
        bodyValue: () => bodyValue(call, maxDecodedBytes),
      });
      call.operation = operation;
      call.destination = destinationOf(operation, call.target);
    },
  };
}
