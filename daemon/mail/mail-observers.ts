// Counters and log of a listener for mail, beside the decision and the reply.
import {unfailing} from '../services/unfailing.ts';
import type {IntakePort, MailLog} from './mail-decision.ts';

/**
 * The needs of a listener with a log and counters that never fail. Otherwise a mail that was relayed would be answered with an error
 * and come again, and the error of a log line would end the process.
 */
export const withUnfailingObservers = <N extends {log: MailLog; intake: IntakePort}>(needs: N): N => {
  const log: MailLog = {
    info: unfailing((fields, message) => needs.log.info(fields, message)),
    warn: unfailing((fields, message) => needs.log.warn(fields, message)),
    error: unfailing((fields, message) => needs.log.error(fields, message)),
  };
  const failed = (error: unknown) => log.error({err: error}, 'a mail could not be counted');
  const {intake} = needs;
  return {
    ...needs,
    log,
    intake: {
      ...intake,
      count: unfailing(received => intake.count(received), failed),
      recordVerdict: unfailing(verdict => intake.recordVerdict(verdict), failed),
      recordEvent: unfailing(event => intake.recordEvent(event), failed),
      recordRefusal: unfailing(refusal => intake.recordRefusal(refusal), failed),
      leaveOutRefusal: unfailing(() => intake.leaveOutRefusal(), failed),
      recordRelay: unfailing(outcome => intake.recordRelay(outcome), failed),
    },
  };
};
