import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/* Writes policy-recipes.md from the files of `config/policies/recipes`, each a policy whose comment has its number and title. */

const folder = join(import.meta.dirname, '../config/policies/recipes');

const intro = `# Policy recipes

Twelve policies to copy from. Each one is a file in [config/policies/recipes](../config/policies/recipes), with its
cases in the folder \`tests\` beside it. None is in effect unless you apply it. This page is made of the files by
\`node docs/generate.ts\`; the cases run as tests:

\`\`\`sh
postern policy test config/policies/recipes/tests/*.yaml
\`\`\`
`;

/** A recipe as a page has it: the comment as title and text, then the policy and its cases. */
function sectionOf(file: string): { readonly number: number; readonly text: string } {
  const [comment = '', ...policy] = readFileSync(join(folder, file), 'utf8').split('\n\n');
  const [title = '', , ...text] = comment.split('\n').map((line) => line.replace(/^# ?/, ''));
  const cases = readFileSync(join(folder, 'tests', file), 'utf8');
  const parts = [
    `## ${title}`,
    ...(text.length > 0 ? [text.join('\n')] : []),
    `\`\`\`yaml\n${policy.join('\n\n')}\`\`\``,
    `\`\`\`yaml\n${cases}\`\`\``,
  ];
  return { number: Number.parseInt(title, 10), text: `${parts.join('\n\n')}\n` };
}

/** The whole page. */
export function recipesDocument(): string {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  const sections = files.map(sectionOf).toSorted((a, b) => a.number - b.number);
  return [intro, ...sections.map(({ text }) => text)].join('\n');
}
