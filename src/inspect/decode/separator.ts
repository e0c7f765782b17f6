/**
 * Text between two values that are searched together. No pattern that stays on a line or skips white space
 * crosses it, and no decoder joins its sides.
 */
export const separatorText = '\n\x1e\n';
export const separator = Buffer.from(separatorText);
