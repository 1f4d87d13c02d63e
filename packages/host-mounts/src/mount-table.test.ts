import { expect, test } from '@jest/globals';
import { mountPointsOf } from './mount-table.js';

test('mount points are read as they are, with spaces and backslashes', () => {
  const table = [
    '22 27 0:21 / /proc rw,relatime - proc proc rw',
    '53 27 7:0 / /a\\040b\\134c/wörk rw,nosuid shared:1 - ext4 /dev/loop0 rw',
    '',
  ].join('\n');
  expect(mountPointsOf(table)).toEqual(['/proc', '/a b\\c/wörk']);
});
