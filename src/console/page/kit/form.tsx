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

interface ActOf extends Children {
  readonly run: () => unknown;
  /** Set while it runs, and where it cannot be done. */
  readonly isOff: boolean;
  readonly look?: 'plain' | 'small';
  readonly title?: string;
}

/** Shows a button that sets an action off. */
export const Act = ({ run, isOff, look, title, children }: ActOf) => (
  <button type="button" class={look} disabled={isOff} title={title} onClick={() => void run()}>
    {children}
  </button>
);

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

interface ChoiceOf extends Children {
  readonly word: string;
  readonly value: string;
  readonly onChoose: (value: string) => void;
}

/** Shows a field that filters a list by one of some values, or by none. */
export function Choice({ word, value, onChoose, children }: ChoiceOf) {
  return (
    <select
      aria-label={word}
      class={value === '' ? '' : 'set'}
      value={value}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      <option value="">{word}: any</option>
      {children}
    </select>
  );
}

interface TabsOf {
  readonly label: string;
  readonly words: readonly string[];
  readonly chosen: string;
  readonly onChoose: (word: string) => void;
}

/** Shows a row of buttons of which one is chosen. */
export function Tabs({ label, words, chosen, onChoose }: TabsOf) {
  return (
    <fieldset class="tabs">
      <legend class="hidden">{label}</legend>
      {words.map((it) => (
        <button
          key={it}
          type="button"
          class="small"
          aria-pressed={it === chosen}
          onClick={() => onChoose(it)}
        >
          {it}
        </button>
      ))}
    </fieldset>
  );
}
