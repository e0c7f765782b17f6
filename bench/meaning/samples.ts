import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Category, categories } from '../../src/inspect/intent/model.ts';
import { readDataFile } from '../../src/util/files/data-file.ts';

/** A text that was made, and what it means; undefined for an everyday one. */
export interface Sample {
  readonly text: string;
  readonly category: Category | undefined;
  readonly family: string;
  /** The texts of a template count as much as those of any other. */
  readonly share: number;
}

type Families = Readonly<Record<string, string>>;
type Slots = Readonly<Record<string, readonly string[]>>;

/** Of one template, as far as its slots can tell so many apart. */
const samplesPerTemplate = 16;
const slotsFile = 'slots.yaml';

/**
 * The texts of a folder: of each template those that a seeded generator fills its slots with, each once. The same in every run. A file is
 * named after its category; others hold everyday texts.
 */
export function makeSamples(dir: string): Sample[] {
  const files = readdirSync(dir)
    .filter((file) => file.endsWith('.yaml'))
    .sort();
  const slots = files.includes(slotsFile) ? (read(join(dir, slotsFile)) as Slots) : {};
  const random = createRandom(20_261_122);
  return files
    .filter((file) => file !== slotsFile)
    .flatMap((file) => {
      const name = file.slice(0, -'.yaml'.length);
      const category = categories.find((it) => it.toLowerCase().replaceAll('_', '-') === name);
      return Object.entries(read(join(dir, file)) as Families).flatMap(([family, templates]) =>
        templates.split('\n').flatMap((template) => {
          const texts = [...fillings(template, slots, random)];
          return texts.map((text) => ({
            text,
            category,
            family: `${name}/${family}`,
            share: 1 / texts.length,
          }));
        }),
      );
    });
}

function read(file: string): unknown {
  const { documents, mistake } = readDataFile(readFileSync(file, 'utf8'));
  if (mistake !== undefined) throw new Error(`${file}: ${mistake}`);
  return documents[0];
}

function fillings(template: string, slots: Slots, random: () => number): Set<string> {
  const texts = new Set<string>();
  for (let time = 0; time < samplesPerTemplate; time += 1) texts.add(fill(template, slots, random));
  return texts;
}

/** Braces that name no slot stay: they belong to JSON. In it, `\n` stays as well. */
function fill(template: string, slots: Slots, random: () => number): string {
  const text = template.replace(/\{(\w+)\}/g, (written, name: string) => {
    const choices = slots[name];
    return choices ? (choices[Math.floor(random() * choices.length)] as string) : written;
  });
  return text.startsWith('{"') ? text : text.replaceAll('\\n', '\n');
}

/** Numbers from 0 to 1 of a linear congruential generator. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
