/**
 * Stands between two values that are searched one behind the other: no pattern that stays on a line or skips white space crosses it, and
 * no decoder joins what stands on its sides.
 */
export const separatorText = '\n\x1e\n';
export const separator = Buffer.from(separatorText);
