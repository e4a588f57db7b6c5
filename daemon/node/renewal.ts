// Renewal of certificates while the node runs: whatever shows them is given the new ones.
import type {Logger} from 'pino';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import type {Peers} from '../cluster/peers.ts';
import type {AskPeers, CertificateRenewal} from './certificate-renewal.ts';
import type {CutOff} from './cut-off.ts';

interface Shows {
  setCertificate(pair: KeyAndCertificate): void;
}

interface Needs {
  certificates: CertificateRenewal;
  askPeers: AskPeers;
  /** Certificate of the cluster's authority, PEM. */
  ca: string;
  listeners: {api: Shows; mail: Shows; cluster: Shows & {expel(): void}};
  peers: Pick<Peers, 'setCertificate'>;
  /** Notes for which names the certificates of this node are. */
  noteNames(): Promise<void>;
  isRemoved(): boolean;
  cutOff: Pick<CutOff, 'couldNotRenew'>;
  log: Logger;
}

/** Looks at the files and at the age of the certificates. Rejects when new ones cannot be had, and this node is neither removed nor cut off. */
export const createRenewal = (needs: Needs): ((isForced?: boolean) => Promise<void>) => {
  const {certificates, ca, listeners, peers, cutOff, log} = needs;

  const show = async (): Promise<void> => {
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
    if (api.cert !== before.api.cert || cluster.cert !== before.cluster.cert) await show();
    // Who was removed asks in vain, and has said so.
    if (failure && !needs.isRemoved() && !cutOff.couldNotRenew(failure.error)) throw failure.error;
  };
};
