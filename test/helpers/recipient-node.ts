// A node with pages for recipients, and the links of digests.
import PostalMime from 'postal-mime';
import type {Owner} from './daemon.ts';
import {type MailNode, type MailNodeOptions, startMailNode} from './mail-node.ts';
import {pageClient} from './page.ts';
import {freePort} from './ports.ts';

export const startNodeWithPages = async (owner: Owner, {config, ...options}: MailNodeOptions = {}) => {
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `https://${listen}`;
  const node = await startMailNode(owner, {
    ...options,
    config: {...config, recipients: {listen, url, ...(config?.recipients as object | undefined)}},
  });
  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {enabled: true}});
  return {node, url, page: pageClient(node.ca_file)};
};

export const tokenOf = (link: string): string => link.slice(link.lastIndexOf('/') + 1);

/** The links in the digest that is sent now, by subject. */
export const linksOf = async (node: MailNode): Promise<Map<string, string>> => {
  const before = node.sink.mails.length;
  const {status, body} = await node.api('POST', `domains/${node.domainId}/digest/send`);
  if (status !== 200) throw new Error(`${status} ${body}`);
  const texts = await Promise.all(
    node.sink.mails.slice(before).map(async ({content}) => (await PostalMime.parse(content)).text ?? ''),
  );
  return new Map(
    texts.flatMap(text =>
      text.split('\n\n').flatMap(block => {
        const [subject = '', ...lines] = block.trim().split('\n');
        const link = lines.find(line => line.startsWith('https://'));
        return link === undefined ? [] : [[subject, link] as const];
      }),
    ),
  );
};
