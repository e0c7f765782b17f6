import { codingsOf, isStreamable } from '../inspect/decode/packed/inflate.ts';
import type { OpenDecoding } from '../wire/client/decoding.ts';
import { DecodedEvents } from './decoded-events.ts';

const codingsMax = 3;

/** Takes up to three content codings off an answer as it comes. */
export const openDecoding: OpenDecoding = (contentEncoding, { take, onFlow, ended, broken }) => {
  const codings = codingsOf(contentEncoding);
  if (codings.length > codingsMax || !codings.every(isStreamable)) return undefined;
  /** Codings are listed in the order in which they were applied, so the last one comes off first. */
  const layers: DecodedEvents[] = [];
  for (const [at, coding] of codings.entries()) {
    layers.push(
      new DecodedEvents({
        coding,
        sink: layers[at - 1] ?? { write: take, end: ended },
        onData: () => undefined,
        onFlow() {
          const outer = layers[at + 1];
          if (outer) outer.resume();
          else onFlow();
        },
        onBroken: broken,
      }),
    );
  }
  const first = layers.at(-1);
  return (
    first && {
      write: (chunk) => first.write(chunk),
      end: () => first.end(),
      resume: () => layers[0]?.resume(),
      close() {
        for (const layer of layers) layer.close();
      },
    }
  );
};
