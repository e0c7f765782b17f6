import type { Action } from '../data/resource.ts';
import { type Children, Problem } from './bits.tsx';

/** Shows a form that sets an action off, and shows above its fields what went wrong. */
export function Form({
  action,
  autocomplete,
  children,
}: Children & { action: Action<[form: HTMLFormElement]>; autocomplete?: 'off' }) {
  return (
    <form
      class="stack"
      autocomplete={autocomplete}
      onSubmit={(event) => {
        event.preventDefault();
        void action.run(event.currentTarget);
      }}
    >
      <Problem of={action.problem} />
      {children}
    </form>
  );
}

/** Shows the choices of a field for an agent. */
export function AgentOptions({ names }: { names: ReadonlyMap<string, string> }) {
  return (
    <>
      {[...names].map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </>
  );
}
