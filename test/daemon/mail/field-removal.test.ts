import {buffer} from 'node:stream/consumers';
import test from 'ava';
import fc from 'fast-check';
import {withoutFields} from '../../../daemon/mail/field-removal.ts';
import {contentOf, readHeader} from '../../helpers/received-mail.ts';

const bad = 'X-Bad: 1\r\n 2\r\n\t3\r\n';

test('the fields are gone with their folded lines, wherever chunks end, and every other byte is there', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(bad, 'x-BAD :\r\n', 'Subject: X-Bad: 1\r\n', 'no field\r\n', ' lost\r\n', 'X-Good: \xff\r\n')),
      fc.constantFrom('\r\n', '\r\nbody\r\nX-Bad: in the body\r\n', ''),
      fc.integer({min: 1, max: 50}),
      async (lines, end, chunkBytes) => {
        const bytes = Buffer.from(lines.join('') + end, 'latin1');
        const expected = Buffer.from(kept(lines).join('') + end, 'latin1');

        const mail = {...readHeader(bytes), content: contentOf(bytes, chunkBytes)};
        const {content, headers} = withoutFields(mail, ({name}) => name.toLowerCase() === 'x-bad');

        t.is((await buffer(content.open())).toString('latin1'), expected.toString('latin1'));
        t.is(content.sizeBytes, expected.length);
        t.deepEqual(headers, readHeader(expected).headers);
      },
    ),
    {numRuns: 500},
  );
});

test('a mail that loses nothing is read as it is', t => {
  const mail = {...readHeader('Subject: x\r\n\r\n'), content: contentOf(Buffer.from('Subject: x\r\n\r\n'))};

  t.is(withoutFields(mail, () => false).content, mail.content);
});

/** A line that begins with a space belongs to the field above it. */
const kept = (lines: readonly string[]): string[] => {
  let isRemoving = false;
  return lines.filter(line => {
    if (!/^[ \t]/.test(line)) isRemoving = /^x-bad\s*:/i.test(line);
    return !isRemoving;
  });
};
