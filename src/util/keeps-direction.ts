/**
 * Matches a text without characters that turn the direction of what follows (Unicode UAX #9, 2.1 to 2.4). With
 * them a name is shown as another one than is stored.
 */
export const keepsDirection = /^[^\u202a-\u202e\u2066-\u2069]*$/;
export const keepsDirectionRule =
  'must not have characters that turn the direction of text (U+202A to 202E, 2066 to 2069)';
