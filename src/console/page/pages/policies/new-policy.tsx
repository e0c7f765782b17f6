import { useState } from 'preact/hooks';
import { may } from '../../data/api.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { go, href } from '../../data/route.ts';
import { PageHead } from '../../kit/bits.tsx';
import { Workbench } from './workbench.tsx';

/** Name of the draft of a new policy; no policy has this name. */
const draft = '';

const beginning = `name: my-policy
description: What it is for
rules:
  - rule_id: no-deletes
    match: { methods: [DELETE] }
    action: DENY
    reason_code: NO_DELETES
`;

/** Packs and recipes that come with the gateway, by path. Each is read when it is chosen. */
const files: Readonly<Record<string, () => Promise<string>>> = import.meta.glob<string>(
  ['../../../../../config/policies/packs/*.yaml', '../../../../../config/policies/recipes/*.yaml'],
  { query: '?raw', import: 'default' },
);

const titleOf = (path: string): string => {
  const [, folder = '', name = ''] = /(packs|recipes)\/(.+)\.yaml$/.exec(path) ?? [];
  return `${folder === 'packs' ? 'Pack' : 'Recipe'}: ${name}`;
};

/** Returns a text without the comments at its head, which tell of the file and not of the policy. */
const withoutHead = (text: string): string => text.replace(/^(?:#[^\n]*\n)+\n*/, '');

export function NewPolicy() {
  const [text, write] = useState(() => draftOf(draft) ?? beginning);
  const setText = (wanted: string) => {
    keepDraft(draft, wanted, beginning);
    write(wanted);
  };
  const choose = async (path: string) => {
    const read = files[path];
    setText(read ? withoutHead(await read()) : beginning);
  };
  return (
    <>
      <PageHead title="New policy" about="Nothing changes before you apply it." list="policies">
        <select aria-label="Begin with" onChange={(event) => void choose(event.currentTarget.value)}>
          <option value="">Begin with one rule</option>
          {Object.keys(files).map((path) => (
            <option key={path} value={path}>
              {titleOf(path)}
            </option>
          ))}
        </select>
      </PageHead>
      <Workbench
        text={text}
        onText={setText}
        standing=""
        isReadOnly={!may('policies:write')}
        onApplied={({ name }) => {
          dropDraft(draft);
          go(href(['policies', name]));
        }}
      />
    </>
  );
}
