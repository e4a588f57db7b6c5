// A mail server that accepts everything at once and stores nothing, so that only the sending side is measured. It speaks as much
// SMTP as the benchmark's clients need.
import {createServer, type Server} from 'node:net';

/** Its first line end belongs to DATA or to the mail's last line. */
const end = Buffer.from('\r\n.\r\n');
const lineEnd = Buffer.from('\r\n');
const ok = '250 2.0.0 Ok\r\n';

const replies: Record<string, string> = {
  EHLO: '250-backend.test\r\n250-PIPELINING\r\n250-SIZE 52428800\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 SMTPUTF8\r\n',
  DATA: '354 Go on\r\n',
  QUIT: '221 2.0.0 Bye\r\n',
};

interface State {
  isMail: boolean;
  rest: Buffer;
}

/** Takes one command or one mail off the front of the received bytes; its reply, or undefined when it is not complete. */
const step = (state: State, onMail: () => void): string | undefined => {
  const {isMail, rest} = state;
  const at = rest.indexOf(isMail ? end : lineEnd);
  if (at < 0) {
    if (isMail) state.rest = rest.subarray(-(end.length - 1));
    return undefined;
  }
  if (isMail) onMail();
  const verb = isMail ? '' : rest.toString('latin1', 0, 4).toUpperCase();
  state.isMail = verb === 'DATA';
  state.rest = rest.subarray(isMail ? at + end.length : at + (state.isMail ? 0 : lineEnd.length));
  return replies[verb] ?? ok;
};

/** Does not listen yet. `onMail` is called for each received mail, before its reply. */
export const createBareBackend = (onMail: () => void = () => {}): Server =>
  createServer({noDelay: true}, socket => {
    const state: State = {isMail: false, rest: Buffer.alloc(0)};
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      state.rest = Buffer.concat([state.rest, chunk]);
      let said = '';
      for (let reply = step(state, onMail); reply !== undefined; reply = step(state, onMail)) said += reply;
      if (said !== '') socket.write(said);
      if (said.includes('221 ')) socket.end();
    });
    socket.write('220 backend.test ESMTP\r\n');
  });
