import test from 'ava';
import fc from 'fast-check';
import {parse} from 'yaml';
import {parsePlainYaml} from '../../../cli/files/plain-yaml.ts';

test('what mfctl writes of contexts needs no more', t => {
  const text = `contexts:
  mx1:
    url: https://mx1.example.com:8443
    cacert: /home/ada/.config/mfctl/mx1.ca.pem
    fingerprint: sha256:00ff
    metrics_url: http://127.0.0.1:9090
  mx2.example.com:
    url: https://mx2.example.com:8443
    urls:
      - https://mx2.example.com:8443
      - https://mx1.example.com:8443
    cacert: /home/ada/.config/mfctl/mx2.ca.pem
  mx3:
    url: https://mx3.example.com:8443
    urls:
      - https://mx3.example.com:8443
current: mx1
`;

  t.deepEqual(parsePlainYaml(text), parse(text));
  t.deepEqual(parsePlainYaml('mx1: mfk_0123456789\n'), {mx1: 'mfk_0123456789'});
});

test('what it understands it understands as YAML does, and nothing that YAML refuses', t => {
  const pieces = fc.constantFrom(
    ...[
      'a',
      'b',
      'mx1',
      'a.b-c',
      'true',
      'NULL',
      'no',
      '1',
      '-',
      '~',
      '__proto__',
      'constructor',
      '<<',
      'é',
      '"a"',
      "'",
      '&a',
      '*a',
    ],
    ...[
      ':',
      ': ',
      ' ',
      '  ',
      '\n',
      '\n  ',
      '\n    ',
      '\t',
      '\r\n',
      '#',
      ' # x',
      '[',
      '{}',
      '|',
      '>',
      '---\n',
      '...',
      '%',
      '!!str ',
      ',',
    ],
    ...['https://mx1:8443', '/etc/ca.crt', '0x1f', '1e3', '.inf', 'sha256:00', 'a: b\n', 'c:\n  d: e\n', 'x@y', 'a:', '  f: g\n'],
    ...['- x', '- ', '  - d\n', 'h:\n  - i\n', '    - j\n', '  k:\n', '- true\n'],
  );
  let understood = 0;

  fc.assert(
    fc.property(fc.array(pieces, {maxLength: 8}), some => {
      const text = some.join('');
      const plain = parsePlainYaml(text);
      if (plain === undefined) return;
      understood += 1;
      t.deepEqual(plain, parse(text), JSON.stringify(text));
    }),
    {numRuns: 30_000},
  );

  t.true(understood > 80, `${understood}`);
});
