// The page for a link: one document without a script, a cookie or anything from elsewhere. Text of a mail is hostile.
import {createHash} from 'node:crypto';
import type {DigestLanguage} from '../../../shared/digest-rules.ts';
import {escaped, shown, textIn} from '../../services/recipients/digest-text.ts';
import {readableTime} from '../../services/recipients/due-time.ts';
import type {LinkAction, LinkView} from '../../services/recipients/link-owner.ts';
import type {PageText} from '../../services/recipients/recipient-text.ts';

const style = `
:root { color-scheme: light dark; }
body { font: 1.05rem/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 38rem; margin: 0 auto; padding: 1.5rem 1rem; }
h1 { font-size: 1.3rem; line-height: 1.3; }
dl { margin: 1.5rem 0; }
dt { font-size: 0.9rem; opacity: 0.8; }
dd { margin: 0 0 0.8rem; overflow-wrap: anywhere; }
button, .again { display: inline-block; font: inherit; padding: 0.7rem 1.2rem; border: 2px solid; border-radius: 0.4rem; cursor: pointer; color: inherit; background: transparent; }
:focus-visible { outline: 3px solid; outline-offset: 3px; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

export const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex, nofollow',
  'Cross-Origin-Opener-Policy': 'same-origin',
} as const;

/** The member of the form that the button sends. */
export const formField = 'do';

/** What a page says when there is no mail to show. */
export type Message = 'unknown' | 'away' | 'tooMany' | 'wrong';

/** Why the button did not do what it says. */
export type Failure = 'notDelivered' | 'notRequested' | 'refused' | 'underWay';

/** The mail, and what became of it; after a failed try, what to do about it instead. */
export const linkPage = (view: LinkView, failure?: Failure): string => {
  const {page, ...say} = textIn[view.language];
  const {from, sender, address, subject, arrived_at, size_bytes, reason} = view;
  // The node of the mail may know zones that this one does not.
  const {timezone} = readableTime({at: '', timezone: view.timezone});
  const moment = (at: string) => say.moment(new Date(at), timezone);
  const rows = [
    [page.labels.subject, shown(subject) || say.noSubject],
    [page.labels.from, shown(from?.join(', ') || sender) || say.nobody],
    [page.labels.to, shown(address)],
    [page.labels.received, moment(arrived_at)],
    [page.labels.size, page.size(size_bytes)],
    [page.labels.why, page.why(reason)],
  ];
  return documentOf(view.language, page.titles[titleOf(view, failure)], [
    failure ? `<p role="alert">${escaped(page[failure])}</p>` : `<p role="status">${escaped(stateText(view, page, moment))}</p>`,
    `<dl>${rows.map(([label = '', text = '']) => `<dt>${escaped(label)}</dt><dd dir="auto">${escaped(text)}</dd>`).join('\n')}</dl>`,
    nextStep(view, page, failure),
  ]);
};

const nextStep = (view: LinkView, page: PageText, failure: Failure | undefined): string => {
  const button = offeredAction(view);
  if (failure === 'underWay') return againLink(page);
  if (failure === 'refused' || button === undefined) return '';
  return `<form method="post"><input type="hidden" name="${formField}" value="${button}"><button>${escaped(page[button])}</button></form>`;
};

const againLink = (page: PageText): string => `<p><a class="again" href="">${escaped(page.again)}</a></p>`;

const stateText = (
  {state, action, requested_at, ended_at, arrived_at}: LinkView,
  {states}: PageText,
  moment: (at: string) => string,
): string => {
  const ended = moment(ended_at ?? arrived_at);
  switch (state) {
    case 'held':
      if (action === 'request' && requested_at !== null) return states.requested(moment(requested_at));
      return action === 'release' ? states.held : states[action];
    case 'outdated':
    case 'lost':
      return states[state];
    default:
      return states[state](ended);
  }
};

/** What the button of the page does. What was asked for once needs none. */
export const offeredAction = ({state, action, requested_at}: LinkView): LinkAction | undefined => {
  if (state !== 'held' || action === 'none') return undefined;
  return action === 'release' || requested_at === null ? action : undefined;
};

const titleOf = ({state, action, requested_at}: LinkView, failure: Failure | undefined): keyof PageText['titles'] => {
  if (failure) return failure === 'underWay' ? 'underWay' : 'failed';
  if (state === 'released') return 'released';
  if (state !== 'held' && state !== 'outdated') return 'ended';
  return action === 'request' && requested_at !== null ? 'requested' : 'held';
};

/** `hasLink`: with one to the same page. */
export const messagePage = (language: DigestLanguage, what: Message, {hasLink = false} = {}): string => {
  const {page} = textIn[language];
  return documentOf(language, page.titles[what === 'unknown' ? 'unknown' : 'failed'], [
    `<p role="status">${escaped(page[what])}</p>`,
    hasLink ? againLink(page) : '',
  ]);
};

const documentOf = (language: DigestLanguage, title: string, parts: readonly string[]): string => `<!DOCTYPE html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${parts.join('\n')}
</main>
</body>
</html>
`;
