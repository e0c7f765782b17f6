import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';

/* Pages that lead through the code name files and folders in backticks, from the root of the project. */

const root = resolve(import.meta.dirname, '../..');
const folders = ['bench', 'bin', 'config', 'docs', 'src', 'systemd', 'test'];
const extensions = /\.(?:ts|ya?ml|md|lua|json|py|wasm)$/;

/** Code spans outside of code blocks that name a file or a folder. `<name>` stands for a name that the reader chooses. */
function pathsIn(page: string): readonly string[] {
  const prose = page.replace(/^```[\s\S]*?^```$/gm, '');
  const spans = [...prose.matchAll(/`([^`\s]+)`/g)].map(([, span = '']) => span);
  const isPath = (span: string) => extensions.test(span) || folders.some((it) => span.startsWith(`${it}/`));
  return [...new Set(spans.filter((span) => isPath(span) && !span.includes('<') && !span.includes('*')))];
}

for (const name of ['walkthrough.md', 'contributing.md'])
  t.test(`every path that docs/${name} names exists`, async (t) => {
    const paths = pathsIn(readFileSync(join(root, 'docs', name), 'utf8'));
    t.ok(paths.length > 10, 'the page names paths');
    t.strictSame(
      paths.filter((path) => !existsSync(join(root, path))),
      [],
    );
  });
