/** Takes all steps of a work at once; answers its result, and how many there were. */
export function takeSteps<R>(steps: Iterator<unknown, R>): { result: R; count: number } {
  for (let count = 0; ; count++) {
    const step = steps.next();
    if (step.done) return { result: step.value, count };
  }
}
