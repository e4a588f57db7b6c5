import type {z} from 'zod';
import type {LocalFault} from '../../shared/fields.ts';

/** What the node checks. Loaded for files and forms only: the schemas take longer to load than most commands run. */
export const loadRules = async () => {
  const [apiKey, dkimKey, domain, filter, {localFaults}] = await Promise.all([
    import('../../shared/api-key.ts'),
    import('../../shared/dkim-key.ts'),
    import('../../shared/domain.ts'),
    import('../../shared/mail-filter.ts'),
    import('../../shared/fields.ts'),
  ]);
  const checkedBy =
    <T>(schema: z.ZodType<T>) =>
    (value: unknown): Checked<T> => {
      const {data, error} = schema.safeParse(value);
      return error ? {faults: localFaults(error)} : {data, faults: []};
    };
  return {
    /** A part of the settings, without the rules between them. */
    settings: checkedBy(domain.domainSettingsSchema.partial()),
    newDomain: checkedBy(domain.createDomainSchema),
    filter: checkedBy(filter.filterRuleSchema),
    newKey: checkedBy(apiKey.createApiKeySchema),
    newDkimKey: checkedBy(dkimKey.createDkimKeySchema),
    newFilter: checkedBy(filter.createMailFilterSchema),
  };
};
export type Rules = Awaited<ReturnType<typeof loadRules>>;

/** `data`, in the form that is stored, without faults only. */
interface Checked<T> {
  data?: T | undefined;
  faults: LocalFault[];
}
