// Test of a domain: whether mail for it will work, as one node sees it.
import {z} from 'zod';
import {nodeId} from './fields.ts';

const testStates = ['ok', 'warning', 'failed'] as const;
export type TestState = (typeof testStates)[number];

const testParts = ['domain', 'backend', 'smarthost', 'scanner', 'dns'] as const;

const testStepSchema = z
  .object({
    part: z.enum(testParts),
    name: z.string().meta({description: 'What was tested: `host:port` of a server, the name of a DNS record'}),
    step: z
      .string()
      .meta({description: 'Of a server `connection`, `greeting`, `EHLO`, `STARTTLS` or `RCPT`; of DNS the kind of record'}),
    state: z.enum(testStates).meta({description: '`failed`: mail does not work this way'}),
    detail: z.string().meta({description: 'What the server answered, or what is wrong. Servers and DNS wrote a part of it'}),
  })
  .meta({id: 'DomainTestStep'});
export type TestStep = z.infer<typeof testStepSchema>;

export const domainTestSchema = z
  .object({
    domain: z.string(),
    node_id: nodeId.meta({description: 'The node that has tested; another one may be behind another firewall'}),
    works: z.boolean().meta({description: 'Whether mail of the domain will work: one backend that takes it is enough'}),
    steps: z.array(testStepSchema),
  })
  .meta({id: 'DomainTest', description: 'What a test of a domain has found'});
export type DomainTest = z.infer<typeof domainTestSchema>;

export const domainTestQuerySchema = z.strictObject({
  only: z
    .enum(['connection'])
    .optional()
    .meta({description: '`connection`: only whether the backends can be connected to, which takes a few seconds at most'}),
});
