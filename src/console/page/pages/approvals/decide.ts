import type { Approval } from '../../../../api/answers.ts';
import { ApiProblem, post } from '../../data/api.ts';
import { readPending } from '../../data/waiting.ts';

export interface Choice {
  readonly decision: 'approved' | 'denied';
  readonly scope?: 'once' | 'window';
  readonly note?: string;
}

export interface Told {
  readonly text: string;
  readonly problem?: Error | undefined;
}

const calls = (count: number): string => (count === 1 ? 'The call' : `${count} calls`);

/** Decides all calls of a card, one after another, and tells of those that others have decided meanwhile. */
export async function decide(approvals: readonly Approval[], choice: Choice): Promise<Told> {
  let done = 0;
  let late = 0;
  let problem: Error | undefined;
  for (const it of approvals) {
    try {
      await post(`/v1/approvals/${it.approval_id}/decision`, choice);
      done += 1;
    } catch (error) {
      if (error instanceof ApiProblem && error.code === 'CONFLICT') {
        late += 1;
        continue;
      }
      problem = error as Error;
      break;
    }
  }
  await readPending();
  const word =
    choice.decision === 'denied'
      ? 'denied'
      : choice.scope === 'window'
        ? 'approved for the window'
        : 'approved once';
  const parts = [];
  if (done > 0) parts.push(`${calls(done)} ${done === 1 ? 'is' : 'are'} ${word}.`);
  if (late > 0) parts.push(`${calls(late)} ${late === 1 ? 'was' : 'were'} decided or had run out before.`);
  return { text: parts.join(' '), problem };
}
