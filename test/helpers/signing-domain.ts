// A domain whose mail is signed, and a verifier of its signatures.
import {dkimVerify} from 'mailauth/lib/dkim/verify.js';
import type {Domain} from '../../shared/domain.ts';
import type {MailNode} from './mail-node.ts';

/** Makes out.example.com, for outbound mail unless `fields` say otherwise, with a key of each algorithm, at the selectors r1 and e1. */
export const createSigningDomain = async (
  {api, createDomain}: Pick<MailNode, 'api' | 'createDomain'>,
  fields: Partial<Domain> = {},
) => {
  const {id} = await createDomain({name: 'out.example.com', direction: 'outbound', dkim_active: true, ...fields});
  const records = new Map<string, string>();
  for (const [selector, algorithm] of [
    ['r1', 'rsa-2048'],
    ['e1', 'ed25519'],
  ] as const) {
    const {json} = await api('POST', `domains/${id}/dkim-keys`, {body: {selector, algorithm}});
    records.set(json.data.dns_name, json.data.dns_record);
  }
  const resolver = async (name: string): Promise<string[][]> => {
    const record = records.get(name);
    if (record === undefined) throw Object.assign(new Error('no such name'), {code: 'ENOTFOUND'});
    return [record.match(/.{1,255}/g) ?? []];
  };

  return {
    id,
    /** The result for each signature, sorted by selector: `r1 pass`. */
    async verified(content: Buffer): Promise<string[]> {
      const {results} = await dkimVerify(content, {resolver});
      return results.map(({selector, status}) => `${selector} ${status.result}`).toSorted();
    },
  };
};
