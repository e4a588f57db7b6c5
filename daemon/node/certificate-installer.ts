// Installer of renewed certificates: renews them when due, and gives them to all listeners and clients while the node runs.
import type {Logger} from 'pino';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import type {Peers} from '../cluster/peers.ts';
import type {AskPeers, CertificateRenewal} from './certificate-renewal.ts';
import type {CutOff} from './cut-off.ts';

interface CertificateUser {
  setCertificate(pair: KeyAndCertificate): void;
}

interface Needs {
  certificates: CertificateRenewal;
  askPeers: AskPeers;
  /** Certificate of the cluster's authority, PEM. */
  ca: string;
  listeners: {api: CertificateUser; mail: CertificateUser; cluster: CertificateUser & {expel(): void}};
  peers: Pick<Peers, 'setCertificate'>;
  /** Records the names in this node's certificates. */
  noteNames(): Promise<void>;
  isRemoved(): boolean;
  cutOff: Pick<CutOff, 'couldNotRenew'>;
  log: Logger;
}

/** Checks the files and the age of the certificates, and installs new ones. Rejects when renewal fails, unless this node was removed or is cut off. */
export const createCertificateInstaller = (needs: Needs): ((isForced?: boolean) => Promise<void>) => {
  const {certificates, ca, listeners, peers, cutOff, log} = needs;

  const install = async (): Promise<void> => {
    const {api, cluster} = certificates.current();
    await needs.noteNames();
    listeners.api.setCertificate(api);
    listeners.mail.setCertificate(api);
    listeners.cluster.setCertificate(cluster);
    peers.setCertificate({...cluster, ca});
    log.info('certificates renewed');
  };

  return async (isForced = false) => {
    listeners.cluster.expel();
    const before = certificates.current();
    const failure = await certificates.refresh(needs.askPeers, isForced).then(
      () => undefined,
      (error: unknown) => ({error}),
    );
    const {api, cluster} = certificates.current();
    if (api.cert !== before.api.cert || cluster.cert !== before.cluster.cert) await install();
    // The requests of a removed node always fail, which is logged elsewhere.
    if (failure && !needs.isRemoved() && !cutOff.couldNotRenew(failure.error)) throw failure.error;
  };
};
