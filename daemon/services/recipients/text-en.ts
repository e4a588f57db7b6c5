import {linkDays} from '../../../shared/digest-rules.ts';
import {momentIn, type RecipientText} from './recipient-text.ts';

/** After the mail: “It looks like spam.” */
const why = {
  spam: 'looks like spam',
  phishing: 'may be a fraud',
  sandbox: 'has an attachment that may be harmful',
  rbl: 'came from a server on a blocklist',
};

export const english: RecipientText = {
  digestSubject: count => (count === 1 ? 'A mail is held for you' : `${count} mails are held for you`),
  digestFirst: (count, mailbox) =>
    count === 1
      ? `A mail to ${mailbox} was not delivered, because it may be unwanted or harmful. If you do not expect it, you need not do anything.`
      : `${count} mails to ${mailbox} were not delivered, because they may be unwanted or harmful. If you do not expect them, you need not do anything.`,
  digestOthers: count => (count === 1 ? 'The next mail lists one more.' : `The next mail lists ${count} more.`),
  digestLast: `Each link is for you alone, shows one mail, and works for ${linkDays} days at most. Its page never asks for a password.`,
  moment: momentIn('en-GB'),
  held: (moment, reason) => `${moment}, ${why[reason]}`,
  seeOrRelease: 'More about it, or have it delivered',
  seeOrRequest: 'More about it, or ask for it',
  page: {
    titles: {
      held: 'A mail that is held for you',
      requested: 'You have asked for this mail',
      released: 'This mail was delivered to you',
      ended: 'This mail is not held any more',
      unknown: 'No mail',
      failed: 'This did not work',
      underWay: 'This mail may be on its way to you',
    },
    labels: {from: 'From', to: 'To', subject: 'Subject', received: 'Received', size: 'Size', why: 'Why it is held'},
    why: reason => `It ${why[reason]}.`,
    size: bytes => `${Math.max(1, Math.round(bytes / 1000)).toLocaleString('en-GB')} kB`,
    states: {
      held: 'This mail is not in your mailbox. If you expect it, you can have it delivered. Otherwise you need not do anything.',
      request:
        'This mail is not in your mailbox. If you expect it, you can ask an administrator to have it delivered. Otherwise you need not do anything.',
      none: 'This mail is not in your mailbox. Only an administrator can have it delivered.',
      requested: moment => `This mail is not in your mailbox. You asked an administrator for it on ${moment}.`,
      outdated: 'This link is too old. If you need the mail, ask an administrator.',
      lost: 'This mail cannot be found any more. If you need it, ask an administrator.',
      released: moment => `This mail was delivered to you on ${moment}.`,
      discarded: moment => `This mail was deleted on ${moment}.`,
      expired: moment => `This mail was held until ${moment}, and then deleted.`,
      gone: moment => `This mail has not been held since ${moment}. If you do not have it, ask an administrator.`,
    },
    release: 'Deliver this mail to me',
    request: 'Ask an administrator for this mail',
    unknown: 'This link leads to no mail. Perhaps it was not copied completely, or the mail no longer exists.',
    away: 'The server that holds this mail cannot be reached now. Nothing is lost: try again later.',
    notDelivered: 'The mail could not be delivered now. Nothing is lost: try again later.',
    notRequested: 'Your request could not be recorded now. Try again later.',
    refused: 'Your mail server does not accept this mail. It is still held: ask an administrator.',
    underWay: 'It is not known yet whether this mail was delivered. Open the link again in a minute.',
    tooMany: 'There were too many requests. Try again in a minute.',
    wrong: 'Something was wrong with this request. Nothing was done. Open the link again.',
    again: 'Open the link again',
  },
  nobody: '(no sender)',
  noSubject: '(no subject)',
  notShown: '(your mail server refuses to show it)',
};
