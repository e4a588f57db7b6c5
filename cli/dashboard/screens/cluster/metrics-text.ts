// Metrics of a node that the dashboard shows.
export interface NodeMetrics {
  /** Since the start of the node. */
  verdicts: Readonly<Record<string, number>>;
  version: string | undefined;
}

export const parseMetrics = (text: string): NodeMetrics => {
  const verdicts = [...text.matchAll(/^mfd_intake_verdicts_total\{verdict="(\w+)"\} (\d+)/gm)];
  return {
    verdicts: Object.fromEntries(verdicts.map(([, verdict = '', count]) => [verdict, Number(count)])),
    version: /^mfd_build_info\{version="([^"]*)"/m.exec(text)?.[1],
  };
};
