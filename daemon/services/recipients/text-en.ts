import {linkDays} from '../../../shared/digest-rules.ts';
import {momentIn, type RecipientText} from './recipient-text.ts';

const why = {
  spam: 'looks like spam',
  phishing: 'may be a fraud',
  sandbox: 'its attachment may be harmful',
  rbl: 'came from a listed address',
};

export const english: RecipientText = {
  digestSubject: count => (count === 1 ? 'A mail is held for you' : `${count} mails are held for you`),
  digestFirst: (count, mailbox) =>
    count === 1
      ? `A mail to ${mailbox} was not delivered, because it may be unwanted or harmful. If you do not expect it, you need not do anything.`
      : `${count} mails to ${mailbox} were not delivered, because they may be unwanted or harmful. If you do not expect them, you need not do anything.`,
  digestOthers: count => (count === 1 ? 'The next mail lists one more.' : `The next mail lists ${count} more.`),
  digestLast: `Each link is for you alone, shows one mail, and is good for ${linkDays} days at most. Nobody will ever ask you for a password behind it.`,
  moment: momentIn('en-GB'),
  held: (moment, reason) => `${moment}, ${why[reason]}`,
  seeOrRelease: 'See it, or have it delivered',
  seeOrRequest: 'See it, or ask for it',
  page: {
    titles: {
      held: 'A mail that is held for you',
      requested: 'You have asked for this mail',
      released: 'This mail was delivered to you',
      ended: 'This mail is not held any more',
      unknown: 'No mail',
      failed: 'This did not work',
    },
    labels: {from: 'From', to: 'To', subject: 'Subject', received: 'Received', size: 'Size', why: 'Why it is held'},
    why: reason => `It ${why[reason].replace(/^its attachment/, 'has an attachment that')}.`,
    size: bytes => `${Math.max(1, Math.round(bytes / 1000)).toLocaleString('en-GB')} kB`,
    states: {
      held: 'This mail is not in your mailbox. If you expect it, you can have it delivered; else you need not do anything.',
      request:
        'This mail is not in your mailbox. If you expect it, you can ask an administrator to have it delivered; else you need not do anything.',
      none: 'This mail is not in your mailbox. Only an administrator can have it delivered.',
      requested: moment => `This mail is not in your mailbox. You asked an administrator for it on ${moment}.`,
      outdated: 'This link is too old. If you need the mail, ask an administrator.',
      lost: 'This mail is not there any more.',
      released: moment => `This mail was delivered to you on ${moment}.`,
      discarded: moment => `This mail was deleted on ${moment}.`,
      expired: moment => `This mail was deleted on ${moment}, as it was held for long enough.`,
      gone: moment => `This mail has not been held any more since ${moment}.`,
    },
    release: 'Deliver this mail to me',
    request: 'Ask an administrator for this mail',
    unknown: 'This link leads to no mail. Perhaps it was not copied as a whole, or its mail is not there any more.',
    away: 'Where this mail is cannot be reached now. Nothing is lost: try again later.',
    notDelivered: 'The mail could not be delivered now. Nothing is lost: try again later.',
    refused: 'Your mail server does not take this mail. Ask an administrator.',
    underWay: 'The mail is perhaps on its way to you. Open the link again in a minute.',
    tooMany: 'There were too many requests. Try again in a minute.',
    wrong: 'Something was wrong with this request; nothing was done. Open the link again.',
    again: 'Try again',
  },
  nobody: '(no sender)',
  noSubject: '(no subject)',
};
