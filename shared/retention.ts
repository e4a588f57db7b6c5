// Retention of held mail: how long the mail of a domain is held, where it is not for the node to say.
import {z} from 'zod';
import {nodeId} from './fields.ts';
import {type Reason, reasons} from './reason.ts';

const maxDays = 36_500;

/** Of mfd.yaml and of a domain. */
export const days = z.number('must be a number of days').gt(0, 'must be above 0').max(maxDays, `must be at most ${maxDays}`);

const ofReasons = <T extends z.ZodType>(schema: T) =>
  Object.fromEntries(reasons.map(reason => [reason, schema])) as Record<Reason, T>;

const members = {
  days: days.nullable().default(null).meta({description: 'For every reason without days of its own; null: as the node has it'}),
  by_reason: z.strictObject(ofReasons(days.optional())).default({}),
};

export const retentionSchema = z.strictObject(members).meta({
  id: 'Retention',
  description: 'Days that mail of a domain is held. It counts before every setting of a node',
});
export type DomainRetention = z.infer<typeof retentionSchema>;

/** Undefined for one that says nothing. */
export const nonEmptyRetention = (retention: DomainRetention | null | undefined): DomainRetention | undefined =>
  retention && (retention.days !== null || Object.keys(retention.by_reason).length > 0) ? retention : undefined;

/** A record of a later version may have more members. */
const storedSchema = z.object({...members, by_reason: z.object(members.by_reason.unwrap().shape).default({})});

/** Stands for what this version cannot read, such as that of a later version: how long the mail of its domain is to be held is not known. */
export const unreadableRetention: DomainRetention = {days: maxDays, by_reason: {}};

/** Undefined for none. */
export const storedRetention = (value: unknown): DomainRetention | undefined => {
  if (value === null || value === undefined) return undefined;
  const {data} = storedSchema.safeParse(value);
  if (!data) return unreadableRetention;
  const saysMore = Object.keys(value).some(name => !Object.hasOwn(members, name));
  return nonEmptyRetention(data) ?? (saysMore ? unreadableRetention : undefined);
};

export const retentionPatchSchema = z
  .strictObject({
    days: days.nullable().optional().meta({description: 'Null: as the node has it'}),
    by_reason: z
      .strictObject(ofReasons(days.nullable().optional()))
      .nullish()
      .meta({description: 'Null removes a reason, or all'}),
  })
  .meta({id: 'RetentionPatch', description: 'The members to change (JSON merge patch, RFC 7396)'});
export type RetentionPatch = z.infer<typeof retentionPatchSchema>;

export const appliedRetentionSchema = z
  .strictObject({
    domain: z.string(),
    ...members,
    in_effect: z
      .strictObject(ofReasons(days))
      .meta({description: 'Days that mail of the domain is held on the node that answers'}),
    of_node: z
      .strictObject(ofReasons(days))
      .meta({description: 'Days that it would be held there if the domain had none of its own, or were deleted'}),
    node_id: nodeId.meta({description: 'The node that answers; another one may have other settings'}),
  })
  .meta({id: 'AppliedRetention', description: 'How long mail of a domain is held'});
export type AppliedRetention = z.infer<typeof appliedRetentionSchema>;
