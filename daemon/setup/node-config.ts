// Edits of mfd.yaml: adds and removes keys, and leaves all other text unchanged.
import {isDeepStrictEqual} from 'node:util';
import {isMap, parseDocument, stringify} from 'yaml';

/** A key such as `postfix.config_dir`, and its value. */
export interface ConfigKey {
  key: string;
  value: string;
}

/** The wanted keys that the text does not set; existing keys are never changed. */
export const missingKeys = (text: string, wanted: ConfigKey[]): ConfigKey[] => {
  const document = parseDocument(text);
  return wanted.filter(({key}) => !document.hasIn(key.split('.')));
};

export const withKeys = (text: string, keys: ConfigKey[]): string => {
  let result = text;
  for (const [section, values] of Object.entries(sectionsOf(keys))) {
    const appended = `${result === '' || result.endsWith('\n') ? result : `${result}\n`}\n${stringify({[section]: values})}`;
    result =
      saysOf(appended, section, values) && !parseDocument(result).has(section) ? appended : within(result, section, values);
  }
  return result;
};

export const withoutKeys = (text: string, keys: string[]): string => {
  const document = parseDocument(text);
  for (const key of keys) {
    const path = key.split('.');
    document.deleteIn(path);
    const section = document.getIn(path.slice(0, -1));
    if (isMap(section) && section.items.length === 0) document.deleteIn(path.slice(0, -1));
  }
  return document.toString({lineWidth: 0});
};

export const valueIn = (text: string, key: string): string | null => {
  const value = parseDocument(text).getIn(key.split('.'));
  return value === undefined || value === null ? null : String(value);
};

type Sections = Record<string, Record<string, string>>;

const sectionsOf = (keys: ConfigKey[]): Sections => {
  const sections: Sections = {};
  for (const {key, value} of keys) {
    const [section = '', name = ''] = key.split('.');
    sections[section] = {...sections[section], [name]: value};
  }
  return sections;
};

/** Text appended at the end is a section only in a plain list of sections, not in a file in braces or one that ends in `...`. */
const saysOf = (text: string, section: string, values: Record<string, string>): boolean => {
  const document = parseDocument(text);
  return document.errors.length === 0 && isDeepStrictEqual((document.toJS() as Sections | null)?.[section], values);
};

const within = (text: string, section: string, values: Record<string, string>): string => {
  const document = parseDocument(text);
  if (!isMap(document.get(section))) document.set(section, document.createNode({}));
  for (const [name, value] of Object.entries(values)) document.setIn([section, name], value);
  return document.toString({lineWidth: 0});
};

/** For Rspamd's local.d/options.inc. With its defaults, a silent name server delays each mail by six seconds. */
export const rspamdOptions = `\
# Written by mfd setup postfix: how long mail waits here for a name server that says nothing.
dns {
  timeout = 1s;
  retransmits = 2;
}
`;
