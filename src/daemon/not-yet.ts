import type { Config } from '../config/schema.ts';

/*
 * The configuration's keys are fixed before all that they steer is built. What a file asks for and this version does not do is
 * never passed over in silence: it is a warning in the log.
 */

interface Gap {
  readonly path: string;
  readonly isAsked: (config: Config) => boolean;
  /** The behaviour instead. */
  readonly instead: string;
}

const ignored: readonly Gap[] = [
  {
    path: 'telemetry.otlp',
    isAsked: ({ telemetry }) => telemetry.otlp !== null,
    instead: 'nothing is exported',
  },
];

/** Keys without effect in this version, and the behaviour instead. */
export const ignoredKeys = (config: Config): string[] =>
  ignored
    .filter((gap) => gap.isAsked(config))
    .map(({ path, instead }) => `${path} has no effect in this version yet: ${instead}`);
