// Sections of a page from the topics of `mfctl help`.
import {type HelpTopic, helpTopics} from '../cli/help/help-topics.ts';
import {bold, definition, filled, plain, sentence} from './roff.ts';

export const topicSection = (name: string): string => {
  const topic = helpTopics.find(candidate => candidate.name === name);
  if (topic === undefined) throw new Error(`there is no topic ${name}`);
  return sectionOf(topic);
};

const sectionOf = ({intro, entries, closing}: HelpTopic): string =>
  [
    filled(plain(intro)),
    ...entries.map(([term, meaning]) => definition(bold(term), [plain(sentence(meaning))])),
    ...(closing === '' ? [] : [`.PP\n${filled(plain(closing))}`]),
  ].join('\n');
