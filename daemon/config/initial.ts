import {stringify} from 'yaml';

export interface InitialSettings {
  fqdn: string;
  apiListen: string;
  apiAdvertise?: string | undefined;
  clusterListen: string;
  clusterAdvertise?: string | undefined;
  metricsListen: string;
  smtpListen: string;
}

/** The `mfd.yaml` of a new node: the given settings, and in comments the settings that people change first. */
export const initialConfig = ({
  fqdn,
  apiListen,
  apiAdvertise,
  clusterListen,
  clusterAdvertise,
  metricsListen,
  smtpListen,
}: InitialSettings): string => `\
# Configuration of this mfd node. Every key is optional; "mfd check-config --data DIR" says what is wrong with it.
# MFD_* variables override keys: MFD_SMTP_LISTEN for smtp.listen. SIGHUP rereads this file.

${stringify({fqdn})}
api:
${indented({listen: apiListen, ...(apiAdvertise !== undefined && {advertise: apiAdvertise})})}
  # A certificate of your own instead of the one from the cluster CA:
  # cert_file: /etc/ssl/mfd/fullchain.pem
  # key_file: /etc/ssl/mfd/privkey.pem

cluster:
${indented({listen: clusterListen, ...(clusterAdvertise !== undefined && {advertise: clusterAdvertise})})}

metrics:
${indented({listen: metricsListen})}

smtp:
${indented({listen: smtpListen})}
  # Who may send outbound mail, and whose X-Spam headers the built-in scanner believes:
  # trusted_networks: [127.0.0.0/8, "::1/128"]
  # The backends that a domain-admin key may set have to be inside these networks:
  # backend_networks: [10.0.0.0/8]
  # max_size: 50M
  # smarthost: smtp.example.net:587

# The built-in scanner is for trying things out. Production wants Rspamd:
# scanner:
#   type: rspamd
#   rspamd_url: http://127.0.0.1:11333
#   on_failure: tempfail

# retention:
#   days: 30
#   by_reason: {phishing: 60}
`;

const indented = (value: Record<string, string>): string =>
  stringify(value)
    .trimEnd()
    .split('\n')
    .map(line => `  ${line}`)
    .join('\n');
