/** For Rspamd's local.d/options.inc. With its defaults, a silent name server delays each mail by six seconds. */
export const rspamdOptions = `\
# Written by mfd setup postfix: how long mail waits here for a name server that says nothing.
dns {
  timeout = 1s;
  retransmits = 2;
}
`;
