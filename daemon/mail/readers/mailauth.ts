// The verifying parts of mailauth. A node without mail does without their code, and import() would find the modules anew for each mail.

const load = async () => {
  const [{spf}, {dkimVerify}, {arc}] = await Promise.all([
    import('mailauth/lib/spf/index.js'),
    import('mailauth/lib/dkim/verify.js'),
    import('mailauth/lib/arc/index.js'),
  ]);
  return {spf, dkimVerify, arc};
};

let loaded: ReturnType<typeof load> | undefined;

/** Loading the code takes longer than most answers of DNS: do it before the time of a mail begins. */
export const loadMailauth = async (): ReturnType<typeof load> => {
  loaded ??= load();
  return loaded;
};
