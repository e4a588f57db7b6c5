/** In place of the id of a key where a recipient acted by the link of a digest: no key has it. */
export const recipientKeyId = 0;
