// Long queue ids of Postfix: seconds since 1970, four digits of microseconds, `z`, and the inode; all in base 52.
const digits = '0123456789BCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz';
const longId =
  /^([0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{6,7})([0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{4})z[0-9B-DF-HJ-NP-TV-Zb-df-hj-np-tv-y]+$/;

const decode = (text = ''): number => [...text].reduce((sum, digit) => sum * digits.length + digits.indexOf(digit), 0);

/** When the queue file was created: seconds since 1970, and microseconds. Undefined for a short id. */
export const longIdTime = (queueId: string): {seconds: number; microseconds: number} | undefined => {
  const found = longId.exec(queueId);
  return found ? {seconds: decode(found[1]), microseconds: decode(found[2])} : undefined;
};
