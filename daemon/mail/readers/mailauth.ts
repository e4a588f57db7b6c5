// The parts of mailauth that are used, each loaded before it is needed: it takes longer than most mails.

const load = async () => {
  const [{spf}, {dkimVerify}, {arc}] = await Promise.all([
    import('mailauth/lib/spf/index.js'),
    import('mailauth/lib/dkim/verify.js'),
    import('mailauth/lib/arc/index.js'),
  ]);
  return {spf, dkimVerify, arc};
};

let loaded: ReturnType<typeof load> | undefined;

export const loadMailauth = async (): ReturnType<typeof load> => {
  // import() would find the modules again for each mail.
  loaded ??= load();
  return loaded;
};

export const loadSigner = async () => import('mailauth/lib/dkim/sign.js');
