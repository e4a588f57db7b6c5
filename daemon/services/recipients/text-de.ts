import {linkDays} from '../../../shared/digest-rules.ts';
import {momentIn, type RecipientText} from './recipient-text.ts';

const why = {
  spam: 'sieht nach Spam aus',
  phishing: 'könnte ein Betrugsversuch sein',
  sandbox: 'der Anhang könnte schädlich sein',
  rbl: 'kam von einer gelisteten Adresse',
};

export const german: RecipientText = {
  digestSubject: count =>
    count === 1 ? 'Eine E-Mail an Sie wird zurückgehalten' : `${count} E-Mails an Sie werden zurückgehalten`,
  digestFirst: (count, mailbox) =>
    count === 1
      ? `Eine E-Mail an ${mailbox} wurde nicht zugestellt, weil sie unerwünscht oder schädlich sein könnte. Wenn Sie sie nicht erwarten, brauchen Sie nichts zu tun.`
      : `${count} E-Mails an ${mailbox} wurden nicht zugestellt, weil sie unerwünscht oder schädlich sein könnten. Wenn Sie sie nicht erwarten, brauchen Sie nichts zu tun.`,
  digestOthers: count =>
    count === 1 ? 'Eine weitere steht in der nächsten Übersicht.' : `${count} weitere stehen in der nächsten Übersicht.`,
  digestLast: `Jeder Link ist nur für Sie, zeigt eine einzige E-Mail und gilt höchstens ${linkDays} Tage. Niemand wird Sie dort nach einem Passwort fragen.`,
  moment: momentIn('de-DE'),
  held: (moment, reason) => `${moment}, ${why[reason]}`,
  seeOrRelease: 'Ansehen oder zustellen lassen',
  seeOrRequest: 'Ansehen oder anfordern',
  page: {
    titles: {
      held: 'Eine E-Mail, die für Sie zurückgehalten wird',
      requested: 'Sie haben um diese E-Mail gebeten',
      released: 'Diese E-Mail wurde Ihnen zugestellt',
      ended: 'Diese E-Mail wird nicht mehr zurückgehalten',
      unknown: 'Keine E-Mail',
      failed: 'Das hat nicht geklappt',
    },
    labels: {from: 'Von', to: 'An', subject: 'Betreff', received: 'Empfangen', size: 'Größe', why: 'Grund'},
    why: reason =>
      `Die E-Mail ${why[reason].replace(/^der Anhang könnte schädlich sein/, 'hat einen Anhang, der schädlich sein könnte')}.`,
    size: bytes => `${Math.max(1, Math.round(bytes / 1000)).toLocaleString('de-DE')} kB`,
    states: {
      held: 'Diese E-Mail ist nicht in Ihrem Postfach. Wenn Sie sie erwarten, können Sie sie zustellen lassen; sonst brauchen Sie nichts zu tun.',
      request:
        'Diese E-Mail ist nicht in Ihrem Postfach. Wenn Sie sie erwarten, können Sie einen Administrator darum bitten; sonst brauchen Sie nichts zu tun.',
      none: 'Diese E-Mail ist nicht in Ihrem Postfach. Nur ein Administrator kann sie zustellen lassen.',
      requested: moment => `Diese E-Mail ist nicht in Ihrem Postfach. Sie haben am ${moment} einen Administrator darum gebeten.`,
      outdated: 'Dieser Link ist zu alt. Wenn Sie die E-Mail brauchen, fragen Sie einen Administrator.',
      lost: 'Diese E-Mail gibt es nicht mehr.',
      released: moment => `Diese E-Mail wurde Ihnen am ${moment} zugestellt.`,
      discarded: moment => `Diese E-Mail wurde am ${moment} gelöscht.`,
      expired: moment => `Diese E-Mail wurde am ${moment} gelöscht, weil sie lange genug zurückgehalten worden war.`,
      gone: moment => `Diese E-Mail wird seit ${moment} nicht mehr zurückgehalten.`,
    },
    release: 'Diese E-Mail zustellen',
    request: 'Einen Administrator um diese E-Mail bitten',
    unknown:
      'Dieser Link führt zu keiner E-Mail. Vielleicht wurde er nicht vollständig kopiert, oder es gibt die E-Mail nicht mehr.',
    away: 'Wo diese E-Mail liegt, ist gerade nicht zu erreichen. Es ist nichts verloren: Versuchen Sie es später noch einmal.',
    notDelivered:
      'Die E-Mail konnte gerade nicht zugestellt werden. Es ist nichts verloren: Versuchen Sie es später noch einmal.',
    refused: 'Ihr Mailserver nimmt diese E-Mail nicht an. Fragen Sie einen Administrator.',
    underWay: 'Die E-Mail ist vielleicht schon unterwegs zu Ihnen. Öffnen Sie den Link in einer Minute noch einmal.',
    tooMany: 'Es waren zu viele Anfragen. Versuchen Sie es in einer Minute noch einmal.',
    wrong: 'Mit dieser Anfrage stimmte etwas nicht; es wurde nichts getan. Öffnen Sie den Link noch einmal.',
    again: 'Noch einmal versuchen',
  },
  nobody: '(kein Absender)',
  noSubject: '(kein Betreff)',
};
