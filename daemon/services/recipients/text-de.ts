import {linkDays} from '../../../shared/digest-rules.ts';
import {momentIn, type RecipientText} from './recipient-text.ts';

/** After the mail: „Die E-Mail sieht nach Spam aus.“ */
const why = {
  spam: 'sieht nach Spam aus',
  phishing: 'könnte ein Betrugsversuch sein',
  sandbox: 'hat einen Anhang, der schädlich sein könnte',
  rbl: 'kam von einem Server auf einer Sperrliste',
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
  digestLast: `Jeder Link ist nur für Sie, zeigt eine einzige E-Mail und gilt höchstens ${linkDays} Tage. Seine Seite fragt nie nach einem Passwort.`,
  moment: momentIn('de-DE'),
  held: (moment, reason) => `${moment}, ${why[reason]}`,
  seeOrRelease: 'Mehr dazu, oder zustellen lassen',
  seeOrRequest: 'Mehr dazu, oder anfordern',
  page: {
    titles: {
      held: 'Eine E-Mail, die für Sie zurückgehalten wird',
      requested: 'Sie haben um diese E-Mail gebeten',
      released: 'Diese E-Mail wurde Ihnen zugestellt',
      ended: 'Diese E-Mail wird nicht mehr zurückgehalten',
      unknown: 'Keine E-Mail',
      failed: 'Das hat nicht geklappt',
      underWay: 'Diese E-Mail ist vielleicht unterwegs zu Ihnen',
    },
    labels: {from: 'Von', to: 'An', subject: 'Betreff', received: 'Empfangen', size: 'Größe', why: 'Grund'},
    why: reason => `Die E-Mail ${why[reason]}.`,
    size: bytes => `${Math.max(1, Math.round(bytes / 1000)).toLocaleString('de-DE')} kB`,
    states: {
      held: 'Diese E-Mail ist nicht in Ihrem Postfach. Wenn Sie sie erwarten, können Sie sie zustellen lassen. Sonst brauchen Sie nichts zu tun.',
      request:
        'Diese E-Mail ist nicht in Ihrem Postfach. Wenn Sie sie erwarten, können Sie einen Administrator darum bitten. Sonst brauchen Sie nichts zu tun.',
      none: 'Diese E-Mail ist nicht in Ihrem Postfach. Nur ein Administrator kann sie zustellen lassen.',
      requested: moment => `Diese E-Mail ist nicht in Ihrem Postfach. Sie haben am ${moment} einen Administrator darum gebeten.`,
      outdated: 'Dieser Link ist zu alt. Wenn Sie die E-Mail brauchen, fragen Sie einen Administrator.',
      lost: 'Diese E-Mail ist nicht mehr auffindbar. Wenn Sie sie brauchen, fragen Sie einen Administrator.',
      released: moment => `Diese E-Mail wurde Ihnen am ${moment} zugestellt.`,
      discarded: moment => `Diese E-Mail wurde am ${moment} gelöscht.`,
      expired: moment => `Diese E-Mail wurde bis ${moment} zurückgehalten und dann gelöscht.`,
      gone: moment =>
        `Diese E-Mail wird seit ${moment} nicht mehr zurückgehalten. Wenn Sie sie nicht haben, fragen Sie einen Administrator.`,
    },
    release: 'Diese E-Mail zustellen',
    request: 'Einen Administrator um diese E-Mail bitten',
    unknown:
      'Dieser Link führt zu keiner E-Mail. Vielleicht wurde er nicht vollständig kopiert, oder es gibt die E-Mail nicht mehr.',
    away: 'Der Server, der diese E-Mail zurückhält, ist gerade nicht zu erreichen. Es ist nichts verloren: Versuchen Sie es später noch einmal.',
    notDelivered:
      'Die E-Mail konnte gerade nicht zugestellt werden. Es ist nichts verloren: Versuchen Sie es später noch einmal.',
    notRequested: 'Ihre Bitte konnte gerade nicht gespeichert werden. Versuchen Sie es später noch einmal.',
    refused: 'Ihr Mailserver nimmt diese E-Mail nicht an. Sie wird weiter zurückgehalten: Fragen Sie einen Administrator.',
    underWay: 'Noch ist nicht bekannt, ob diese E-Mail zugestellt wurde. Öffnen Sie den Link in einer Minute noch einmal.',
    tooMany: 'Es waren zu viele Anfragen. Versuchen Sie es in einer Minute noch einmal.',
    wrong: 'Mit dieser Anfrage stimmte etwas nicht. Es wurde nichts getan. Öffnen Sie den Link noch einmal.',
    again: 'Link noch einmal öffnen',
  },
  nobody: '(kein Absender)',
  noSubject: '(kein Betreff)',
  notShown: '(Ihr Mailserver lässt nicht zu, es anzuzeigen)',
};
