import { useEffect, useRef, useState } from 'preact/hooks';
import { bands, decisions } from '../../../../core/verdict.ts';
import { useNames } from '../../data/agents.ts';
import { go, href, place, replacePlace } from '../../data/route.ts';
import { toAbsolute } from '../../data/times.ts';
import { knownReasonCodes } from '../../data/words.ts';
import { decisionWord } from '../../kit/bits.tsx';
import { Choice } from '../../kit/form.tsx';

const choices = {
  decision: { word: 'Decision', of: decisions },
  band: { word: 'Risk', of: bands },
  class: { word: 'Data', of: ['SECRETS', 'PII', 'PHI', 'INTERNAL'] },
  answer: { word: 'Answer', of: ['injection', 'blocked', 'redacted', 'failed'] },
} as const;

const answerWords: Readonly<Record<string, string>> = {
  injection: 'Prompt injection',
  blocked: 'Withheld',
  redacted: 'Redacted',
  failed: 'None came',
};

const texts = { reason: 'Reason code', tool_name: 'Tool' } as const;

const spans = {
  '15 minutes': 900_000,
  '1 hour': 3_600_000,
  '24 hours': 86_400_000,
  '7 days': 604_800_000,
} as const;
const typedMs = 300;

const spanOf = (from: string, to: string | undefined): string => {
  const [first, last] = [from, to ?? ''].map((it) => toAbsolute(Date.parse(it)));
  return last === '' ? `${first}` : `${first} – ${last}`;
};

type FiltersOf = Readonly<Record<string, string>>;

/** Shows the filters of the list. All stand in the address, so that a link shows others the same. */
export function Filters({ filters }: { filters: FiltersOf }) {
  const names = useNames();
  const set = (name: string, value: string) => {
    const { parts, query } = place.value;
    go(href(['activity', ...parts], { ...query, [name]: value }));
  };
  const isAny = Object.keys(filters).length > 0;
  return (
    <search class="filters">
      <TypedFilter name="q" word="Search" filters={filters} placeholder="Search URLs, agents, findings" />
      {Object.entries(choices).map(([name, { word, of }]) => (
        <Choice key={name} word={word} value={filters[name] ?? ''} onChoose={(it) => set(name, it)}>
          {of.map((it) => (
            <option key={it} value={it}>
              {name === 'decision' ? decisionWord(it) : (answerWords[it] ?? it)}
            </option>
          ))}
        </Choice>
      ))}
      <Choice word="Agent" value={filters['agent_id'] ?? ''} onChoose={(it) => set('agent_id', it)}>
        {[...names].slice(0, 500).map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </Choice>
      {Object.entries(texts).map(([name, word]) => (
        <TypedFilter
          key={name}
          name={name}
          word={word}
          filters={filters}
          placeholder={word.split(' ')[0] ?? word}
        />
      ))}
      <datalist id="reasons">
        {knownReasonCodes.map((it) => (
          <option key={it} value={it} />
        ))}
      </datalist>
      <Choice
        word="Since"
        value={filters['from'] ? 'set' : ''}
        onChoose={(it) =>
          set('from', it && it !== 'set' ? new Date(Date.now() - Number(it)).toISOString() : '')
        }
      >
        {filters['from'] && <option value="set">{spanOf(filters['from'], filters['to'])}</option>}
        {Object.entries(spans).map(([word, ms]) => (
          <option key={word} value={ms}>
            {word}
          </option>
        ))}
      </Choice>
      {isAny && (
        <a class="button plain small" href={href(['activity', ...place.value.parts])}>
          Clear
        </a>
      )}
    </search>
  );
}

interface TypedOf {
  readonly name: string;
  readonly word: string;
  readonly filters: FiltersOf;
  readonly placeholder: string;
}

function TypedFilter({ name, word, filters, placeholder }: TypedOf) {
  const standing = filters[name] ?? '';
  const [text, setText] = useState(standing);
  const timer = useRef(0);
  useEffect(() => setText(standing), [standing]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      const { parts, query } = place.value;
      replacePlace(href(['activity', ...parts], { ...query, [name]: value.trim() }));
    }, typedMs);
  };
  return (
    <input
      type="search"
      aria-label={word}
      class={standing === '' ? name : `${name} set`}
      placeholder={placeholder}
      list={name === 'reason' ? 'reasons' : undefined}
      maxLength={256}
      value={text}
      onInput={(event) => type(event.currentTarget.value)}
    />
  );
}
