// Checks of TXT records by their tags: DKIM keys (RFC 6376 section 3.6.1), MTA-STS (RFC 8461 section 3.1) and TLS-RPT (RFC 8460
// section 3).
import type {WantedRecord} from '../../services/dns/wanted-records.ts';
import {tagsOf} from '../authentication/record-tags.ts';
import {type CheckNeeds, differs, type Finding, missing, right, textsOf} from './finding.ts';

export const checkDkim = async ({name, values: [wanted = '']}: WantedRecord, {lookup}: CheckNeeds): Promise<Finding> => {
  const found = await textsOf(lookup, name);
  const [text, another] = found;
  if (text === undefined) return missing;
  if (another !== undefined) return differs(found, `${found.length} records where there must be one`);
  const [has, needs] = [keyIn(text), keyIn(wanted)];
  if (has.key === '') return differs(found, 'the key is revoked: p is empty');
  if (has.version !== 'DKIM1') return differs(found, 'it is not a DKIM key: v must be DKIM1');
  if (has.kind !== needs.kind) return differs(found, `another kind of key: k must be ${needs.kind}`);
  return has.key === needs.key ? right(found) : differs(found, 'another public key: p does not fit the private key here');
};

const keyIn = (text: string) => {
  const tags = tagsOf(text);
  return {version: tags.get('v') ?? 'DKIM1', kind: tags.get('k') ?? 'rsa', key: tags.get('p')?.replace(/\s/g, '')};
};

/** Any id is right: the administrator changes it with the policy. */
export const checkMtaSts = async ({name}: WantedRecord, {lookup}: CheckNeeds): Promise<Finding> =>
  checkOne(
    (await textsOf(lookup, name)).filter(text => /^v=STSv1[ \t]*;/.test(text)),
    tags => (/^[a-z0-9]{1,32}$/i.test(tags.get('id') ?? '') ? undefined : 'id must be 1 to 32 letters and digits'),
  );

/** Any address is right. */
export const checkTlsRpt = async ({name}: WantedRecord, {lookup}: CheckNeeds): Promise<Finding> =>
  checkOne(
    (await textsOf(lookup, name)).filter(text => /^v=TLSRPTv1[ \t]*;/.test(text)),
    tags =>
      /^(mailto:[^@]+@.|https:\/\/.)/i.test(tags.get('rua') ?? '') ? undefined : 'rua must be a mailto: or https: address',
  );

const checkOne = (found: string[], faultOf: (tags: ReadonlyMap<string, string>) => string | undefined): Finding => {
  const [text, another] = found;
  if (text === undefined) return missing;
  if (another !== undefined) return differs(found, `${found.length} records, and senders then use none of them`);
  const fault = faultOf(tagsOf(text));
  return fault === undefined ? right(found) : differs(found, fault);
};
