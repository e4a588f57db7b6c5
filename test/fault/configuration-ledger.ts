// A ledger of answers about configuration changes: values that only grow, and records that are created and deleted.

export interface ConfigurationFound {
  /** Values of changed fields, by name. */
  values: ReadonlyMap<string, number>;
  /** Existing records, by name, and whether they are valid or revoked. */
  records?: ReadonlyMap<string, boolean>;
}

export interface ConfigurationLedger {
  /** Before value `value` is written; values of one name only grow. */
  changing(name: string, value: number): void;
  /** After the answer 200. */
  changed(name: string, value: number): void;
  /** Before the request that creates a record, and before the one that deletes it: from here on it may have happened. */
  making(name: string): void;
  ending(name: string): void;
  /** After the answer 201, and after the 200 of its deletion. */
  made(name: string): void;
  ended(name: string): void;
  judge(found: ConfigurationFound): string[];
  readonly counts: {changed: number};
}

interface Value {
  asked: number;
  acknowledged: number;
}

interface Entry {
  isMade: boolean;
  mayBeEnded: boolean;
  isEnded: boolean;
}

export const createConfigurationLedger = (): ConfigurationLedger => {
  const values = new Map<string, Value>();
  const records = new Map<string, Entry>();
  const counts = {changed: 0};

  const changeOf = (name: string) => {
    const value = values.get(name) ?? {asked: 0, acknowledged: 0};
    values.set(name, value);
    return value;
  };
  const entryOf = (name: string): Entry => {
    const entry = records.get(name) ?? {isMade: false, mayBeEnded: false, isEnded: false};
    records.set(name, entry);
    return entry;
  };

  return {
    counts,
    changing(name, value) {
      changeOf(name).asked = value;
    },
    changed(name, value) {
      changeOf(name).acknowledged = value;
      counts.changed += 1;
    },
    making: name => void entryOf(name),
    ending(name) {
      entryOf(name).mayBeEnded = true;
    },
    made(name) {
      entryOf(name).isMade = true;
      counts.changed += 1;
    },
    ended(name) {
      entryOf(name).isEnded = true;
      counts.changed += 1;
    },

    judge: found => [...wrongValues(values, found), ...wrongRecords(records, found)],
  };
};

const wrongValues = (values: ReadonlyMap<string, Value>, found: ConfigurationFound): string[] =>
  [...values].flatMap(([name, {asked, acknowledged}]) => {
    const value = found.values.get(name);
    const isRight = value !== undefined && acknowledged <= value && value <= asked;
    return isRight ? [] : [`${name} is ${value}, where ${acknowledged} was acknowledged and ${asked} asked for`];
  });

const wrongRecords = (records: ReadonlyMap<string, Entry>, {records: found = new Map()}: ConfigurationFound): string[] => [
  ...[...records].flatMap(([name, {isMade, mayBeEnded, isEnded}]) => {
    const isGood = found.get(name) ?? false;
    if (isMade && !mayBeEnded && !isGood) return [`${name} was acknowledged and is not there`];
    return isEnded && isGood ? [`${name} is there after its end was acknowledged`] : [];
  }),
  ...[...found.keys()].filter(name => !records.has(name)).map(name => `${name} is there and nobody asked for it`),
];
