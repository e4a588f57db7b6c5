// The directories of domains and keys on a real configuration, and the services that change them.
import {createKeyDirectory} from '../../daemon/services/access/key-directory.ts';
import {createKeys} from '../../daemon/services/access/keys.ts';
import {createDomainDirectory} from '../../daemon/services/domains/domain-directory.ts';
import {createDomains} from '../../daemon/services/domains/domains.ts';
import {createMailFilters} from '../../daemon/services/domains/mail-filters.ts';
import {type Teardown, testConfiguration, testStore} from './store.ts';

export const testDirectories = async (t: Teardown) => {
  const {store, filename} = await testStore(t, {isDurable: false});
  const configuration = testConfiguration(store);
  const keyDirectory = await createKeyDirectory(store, configuration);
  const domainDirectory = await createDomainDirectory(store, configuration);
  const domains = createDomains({configuration, directory: domainDirectory, backendFaults: () => [], retentionFaults: () => []});
  const keys = createKeys({
    store,
    configuration,
    directory: keyDirectory,
    domains: domainDirectory,
    nodeId: 'alpha',
    awaitReplication: async () => [],
    now: Date.now,
  });
  const filters = createMailFilters({store, configuration});
  return {store, filename, configuration, keyDirectory, domainDirectory, domains, filters, keys};
};
