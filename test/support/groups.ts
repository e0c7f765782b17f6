/* Which test files share a process, and in which order the processes begin. */

/**
 * Begin first, each in a process of its own: they take longest, so that a run does not end with one processor waiting for them, and what
 * they wait for is processes of theirs.
 */
const longest: readonly string[] = [
  'test/risk/week.test.ts',
  'test/state/redis.test.ts',
  'test/contract/fleet.test.ts',
  'test/contract/redis.test.ts',
  'test/state/redis-cluster.test.ts',
  'test/contract/outage.test.ts',
  'test/console/pages.test.ts',
  'test/contract/embedded.test.ts',
  'test/daemon/workers-end.test.ts',
  'test/contract/cluster.test.ts',
  'test/daemon/rolling-restart.test.ts',
  'test/sdk/package.test.ts',
  'test/cli/first-steps.test.ts',
];

/** Each process loads the program and its detectors anew, which takes longer than most files do. */
const groupMax = 48;
/** The last groups are smaller, so that the processors end together. */
const groupMin = 10;
const lastGroups = 4;

/** Neighbours in the list of files share a process. */
export function grouped(files: readonly string[]): string[][] {
  const groups = longest.filter((it) => files.includes(it)).map((it) => [it]);
  const others = files.filter((it) => !longest.includes(it));
  while (others.length > 0) {
    const size = Math.max(groupMin, Math.ceil(others.length / lastGroups));
    groups.push(others.splice(0, Math.min(groupMax, size)));
  }
  return groups;
}
