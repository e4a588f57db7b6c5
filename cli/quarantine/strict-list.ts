// `--strict`: a list that lacks the mail of a node is a failure.
import type {Command} from 'commander';
import type {Answer} from '../client/client.ts';
import {CliError, exitCodes} from '../errors.ts';
import {warnOfPartialList} from '../output/page-notes.ts';
import type {Session} from '../session.ts';

export interface StrictFlag {
  strict?: boolean | undefined;
}

export const addStrictOption = (command: Command): Command => command.option('--strict', 'fail when a node does not answer');

/** With `--strict` a missing node fails the whole list, with the error of a partial list and not of an unreachable node. */
export const askStrictly = async <T>(asking: Promise<T>, {strict}: StrictFlag): Promise<T> => {
  try {
    return await asking;
  } catch (error) {
    if (!strict || !(error instanceof CliError) || !['node_unreachable', 'unavailable'].includes(error.code)) throw error;
    const {code, detail, hint, requestId} = error;
    throw new CliError(code, detail, {exitCode: exitCodes.partial, hint, requestId, cause: error});
  }
};

export const reportPartial = (
  session: Session,
  answer: Pick<Answer<unknown>, 'unreachableNodes'>,
  {strict}: StrictFlag,
): void => {
  if (strict && answer.unreachableNodes.length > 0) throw partialList(answer.unreachableNodes);
  warnOfPartialList(session, answer);
};

export const partialList = (unreachableNodes: readonly string[]): CliError =>
  new CliError('partial_list', `the list is incomplete: ${unreachableNodes.join(', ')} did not answer`, {
    exitCode: exitCodes.partial,
    hint: 'mfctl cluster status',
  });
