import t from 'tap';
import {
  isAlphanumeric,
  isDigit,
  isHexDigit,
  isLetter,
  isLower,
  isUpper,
} from '../../../src/inspect/kernel/bytes.ts';
import {
  allBytes,
  bytesBetween,
  bytesMatching,
  complementOf,
  isSubset,
  noBytes,
  overlap,
  tableOf,
  union,
  withBothCases,
} from '../../../src/inspect/patterns/byte-set.ts';

const classes = [
  { name: 'digits', is: isDigit, regex: /[0-9]/ },
  { name: 'small letters', is: isLower, regex: /[a-z]/ },
  { name: 'capitals', is: isUpper, regex: /[A-Z]/ },
  { name: 'letters', is: isLetter, regex: /[a-zA-Z]/ },
  { name: 'letters and digits', is: isAlphanumeric, regex: /[0-9a-zA-Z]/ },
  { name: 'hexadecimal digits', is: isHexDigit, regex: /[0-9a-fA-F]/ },
];

const bytes = Array.from({ length: 256 }, (_, byte) => byte);

for (const { name, is, regex } of classes) {
  t.test(`knows ${name}, in a function, a set and a table`, async (t) => {
    const wanted = bytes.filter((byte) => regex.test(String.fromCharCode(byte)));
    t.same(bytes.filter(is), wanted);
    t.same(
      bytes.filter((byte) => tableOf(bytesMatching(regex))[byte] === 1),
      wanted,
    );
    t.notOk(is(undefined), 'beyond the ends of a text');
  });
}

t.test('sets are compared, joined and turned round', async (t) => {
  const [digits, small] = [bytesBetween(0x30, 0x39), bytesBetween(0x61, 0x7a)];
  t.notOk(overlap(digits, small));
  t.ok(overlap(digits, bytesBetween(0x39, 0x3a)));
  t.ok(isSubset(digits, union(digits, small)) && isSubset(noBytes, digits));
  t.notOk(isSubset(union(digits, small), digits));
  t.equal(complementOf(digits), bytesMatching(/\D/));
  for (const byte of bytes) {
    const hex = `\\x${byte.toString(16).padStart(2, '0')}`;
    t.equal(withBothCases(bytesBetween(byte, byte)), bytesMatching(new RegExp(hex, 'i')), hex);
  }
  t.equal(withBothCases(allBytes), allBytes);
  t.equal(bytesBetween(0, 255), allBytes);
  t.equal(bytesBetween(2, 1), noBytes);
});
