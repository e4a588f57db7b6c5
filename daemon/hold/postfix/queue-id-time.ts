// Creation time in a long queue id of Postfix: seconds, four digits of microseconds, `z`, and the inode; all in base 52.
const digits = '0123456789BCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz';
const longId =
  /^([0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{6,7})[0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{4}z[0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-y]+$/;

/** Seconds since 1970; undefined for a short id. */
export const queueIdTime = (queueId: string): number | undefined => {
  const seconds = longId.exec(queueId)?.[1];
  return seconds === undefined ? undefined : [...seconds].reduce((sum, sign) => sum * 52 + digits.indexOf(sign), 0);
};
