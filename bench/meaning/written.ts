import { categories, type IntentWeights } from '../../src/inspect/intent/model.ts';

const header = `# What the features of a sentence are worth, by category. Made by \`node bench/meaning.ts train\` from the lexicon beside this file and the
# templates in bench/meaning/training, all of which were written for this project and have its licence. Do not edit: change those, and train.
`;

/** The weights as a file of YAML. */
export function written(weights: IntentWeights): string {
  const parts = categories.map((category) => {
    const { bias, weights: all } = weights[category];
    const lines = Object.entries(all).map(([name, weight]) => `    ${name}: ${weight}\n`);
    return `${category}:\n  bias: ${bias}\n  weights:\n${lines.join('')}`;
  });
  return `${header}${parts.join('')}`;
}
