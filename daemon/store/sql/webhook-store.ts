// Webhooks: how far each log was sent, and what was not taken at first.
import type {
  DeliveryCounts,
  SentLog,
  StoredDelivery,
  StoredProgress,
  WebhookStore,
} from '../../services/webhooks/webhook-store.ts';
import {type Db, insertOf, query} from './db.ts';

/** `text`: its type. */
export const webhookTables = (text: string): string[] => [
  `CREATE TABLE webhook_progress (
    webhook_id bigint NOT NULL, logged_by ${text} NOT NULL, progress ${text} NOT NULL, PRIMARY KEY (webhook_id, logged_by)
  )`,
  `CREATE TABLE webhook_delivery (
    webhook_id bigint NOT NULL, logged_by ${text} NOT NULL, number bigint NOT NULL, is_given_up boolean NOT NULL, tries bigint NOT NULL,
    tried_at ${text} NOT NULL, next_try_at ${text}, status bigint, error ${text}, PRIMARY KEY (webhook_id, logged_by, number)
  )`,
];

const deliveryColumns = [
  'webhook_id',
  'logged_by',
  'number',
  'is_given_up',
  'tries',
  'tried_at',
  'next_try_at',
  'status',
  'error',
];
const ofLog = 'webhook_id = ? AND logged_by = ?';

export type ProgressRow = SentLog & {progress: string};

export const rowToProgress = ({progress, ...log}: ProgressRow): StoredProgress => ({...JSON.parse(progress), ...log});

export const webhookStore = (db: Db): WebhookStore => ({
  async progress(webhookId) {
    const [where, values] = ofWebhook(webhookId);
    const sql = `SELECT webhook_id, logged_by, progress FROM webhook_progress ${where} ORDER BY webhook_id, logged_by`;
    return (await query<ProgressRow>(db, sql, values)).map(rowToProgress);
  },
  async counts(webhookId) {
    const [where, values] = ofWebhook(webhookId);
    const countOf = (condition: string) => `CAST(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END) AS bigint)`;
    const sql = `SELECT webhook_id, logged_by, ${countOf('NOT is_given_up')} AS waiting, ${countOf('is_given_up')} AS given_up
      FROM webhook_delivery ${where} GROUP BY webhook_id, logged_by`;
    return query<DeliveryCounts>(db, sql, values);
  },
  async deliveries({webhook_id, logged_by, isGivenUp, dueAt, limit}) {
    const wanted = [
      ...(webhook_id === undefined ? [] : [asked('webhook_id = ?', webhook_id)]),
      ...(logged_by === undefined ? [] : [asked('logged_by = ?', logged_by)]),
      ...(isGivenUp === undefined ? [] : [asked('is_given_up = ?', isGivenUp)]),
      ...(dueAt === undefined ? [] : [asked('next_try_at IS NOT NULL AND (next_try_at <= ? OR tried_at > ?)', dueAt, dueAt)]),
    ];
    const conditions = wanted.map(([condition]) => `${condition} AND `).join('');
    const order = dueAt === undefined ? 'number DESC, logged_by' : 'next_try_at, number';
    const sql = `SELECT ${deliveryColumns.join(', ')} FROM webhook_delivery WHERE ${conditions}true ORDER BY ${order} LIMIT ?`;
    const rows = await query<StoredDelivery>(db, sql, [...wanted.flatMap(([, values]) => values), limit]);
    return rows.map(row => ({...row, is_given_up: Boolean(row.is_given_up)}));
  },
  async save({webhook_id, logged_by, ...progress}: StoredProgress) {
    const sql = `INSERT INTO webhook_progress (webhook_id, logged_by, progress) VALUES (?, ?, ?)
      ON CONFLICT (webhook_id, logged_by) DO UPDATE SET progress = excluded.progress`;
    await query(db, sql, [webhook_id, logged_by, JSON.stringify(progress)]);
  },
  async put(delivery) {
    const changed = deliveryColumns.slice(3).map(name => `${name} = excluded.${name}`);
    const sql = `${insertOf(db.dialect, 'webhook_delivery', deliveryColumns)}
      ON CONFLICT (webhook_id, logged_by, number) DO UPDATE SET ${changed.join(', ')}`;
    await query(db, sql, [db.dialect.json([delivery])]);
  },
  async remove({webhook_id, logged_by, number}) {
    await query(db, `DELETE FROM webhook_delivery WHERE ${ofLog} AND number = ?`, [webhook_id, logged_by, number]);
  },
  async restart({webhook_id, logged_by}, from, earlier) {
    const isDropped = earlier === 'waiting' ? '(number >= ? OR NOT is_given_up)' : 'number >= ?';
    await query(db, `DELETE FROM webhook_delivery WHERE ${ofLog} AND ${isDropped}`, [webhook_id, logged_by, from]);
  },
  async forgetGivenUp({webhook_id, logged_by}, upTo, most) {
    const sql = `DELETE FROM webhook_delivery WHERE ${ofLog} AND is_given_up AND number <= ?`;
    await query(db, sql, [webhook_id, logged_by, upTo]);
    const surplus =
      'SELECT number FROM webhook_delivery WHERE webhook_id = ? AND is_given_up ORDER BY number DESC LIMIT 1 OFFSET ?';
    await query(db, `DELETE FROM webhook_delivery WHERE webhook_id = ? AND is_given_up AND number <= (${surplus})`, [
      ...[webhook_id, webhook_id, most],
    ]);
  },
  async keepOnly(webhookIds) {
    for (const table of ['webhook_progress', 'webhook_delivery'])
      await query(db, `DELETE FROM ${table} WHERE webhook_id NOT IN (${db.dialect.values('bigint')})`, [
        db.dialect.json(webhookIds),
      ]);
  },
});

type Value = string | number | boolean;

const asked = (condition: string, ...values: Value[]): [string, Value[]] => [condition, values];

const ofWebhook = (id: number | undefined): [string, number[]] => (id === undefined ? ['', []] : ['WHERE webhook_id = ?', [id]]);
