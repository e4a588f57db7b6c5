// Limit for what one server gets: a sender of mail in many names chooses who receives the reports about them.

/** Whether all of the hosts may get one more recipient, which then counts for each of them. */
type HostAllowance = (hosts: readonly string[]) => boolean;

const allowanceMs = 60_000;
const recipientsAtOnce = 20;

export const createHostAllowance = (monotonic: () => number): HostAllowance => {
  const counts = new Map<string, number>();
  let begun = monotonic();
  return hosts => {
    if (monotonic() - begun >= allowanceMs) {
      counts.clear();
      begun = monotonic();
    }
    if (hosts.some(host => (counts.get(host) ?? 0) >= recipientsAtOnce)) return false;
    for (const host of new Set(hosts)) counts.set(host, (counts.get(host) ?? 0) + 1);
    return true;
  };
};
