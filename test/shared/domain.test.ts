import test from 'ava';
import {createDomainSchema, domainSettingsSchema, updatedDomainSchema} from '../../shared/domain.ts';

test('a backend that is named twice is stored once, in a new domain, a changed one and a file', t => {
  const backend_servers = ['b.test:25', 'a.test:25', 'b.test:25'];
  const times = {created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z'};
  const made = createDomainSchema.parse({name: 'example.com', backend_servers});

  t.deepEqual(made.backend_servers, ['b.test:25', 'a.test:25']);
  t.deepEqual(updatedDomainSchema.parse({...made, id: 1, ...times, backend_servers}).backend_servers, made.backend_servers);
  t.deepEqual(domainSettingsSchema.partial().parse({backend_servers}).backend_servers, made.backend_servers);
});
