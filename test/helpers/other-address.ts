/** A node rejects an address that sends more than twenty unknown keys within a minute. */
const perAddress = 15;
let given = 0;

/** Addresses of this machine for requests with unknown keys. No address is used more often than the node allows. */
export const otherAddress = (): string => {
  const number = Math.floor(given / perAddress) % (256 * 256);
  given += 1;
  return `127.1.${number >> 8}.${number & 255}`;
};
