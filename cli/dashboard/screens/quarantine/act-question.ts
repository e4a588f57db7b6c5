// Question before mail is released or discarded.
import type {HoldAction} from '../../../../shared/held-mail.ts';
import {countText, plural} from '../../../output/cell-text.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {PickedMail} from './screen-state.ts';

interface ActQuestion {
  action: HoldAction;
  mails: readonly PickedMail[];
  /** The filter in words, when the selection is all its matches. */
  whole: string | undefined;
  silentNodes: readonly string[];
  width: number;
}

const maxNamed = 3;

/** The number of mails, the action, examples, and warnings. */
export const questionLines = ({action, mails, whole, silentNodes, width}: ActQuestion): string[] => {
  const many = plural(mails.length, 'mail');
  const isOne = mails.length === 1;
  const of = whole === undefined ? '' : `, all that matched when it was selected: ${whole}`;
  const what =
    action === 'release'
      ? `Release ${many}: deliver ${isOne ? 'it' : 'them'} to the mail server of ${isOne ? 'its' : 'their'} domain${of}`
      : `Discard ${many}: delete ${isOne ? 'it' : 'them'} for good, undelivered${of}`;
  const more = mails.length - maxNamed;
  const unreachable = mails.filter(({node_id}) => silentNodes.includes(node_id)).length;
  return [
    what,
    ...(unreachable > 0
      ? [`! ${countText(unreachable)} of them on ${silentNodes.join(', ')}, which did not answer: expect them to fail`]
      : []),
    ...(whole !== undefined && silentNodes.length > 0
      ? [`! what ${silentNodes.join(', ')} may hold is not among them: no answer`]
      : []),
    ...mails.slice(0, maxNamed).map(mail => fitText(mailText(mail), Math.max(10, width - 2)).trimEnd()),
    ...(more > 0 ? [`  … and ${countText(more)} more`] : []),
  ];
};

const mailText = ({from, to, subject}: PickedMail): string => `  ${from} → ${to}  ${subject || '(no subject)'}`;
