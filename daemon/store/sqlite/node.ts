import type {Db} from './database.ts';
import {recordTable} from './rows.ts';

export interface StoredNode {
  /** The node number: the first part of every id made there, never reused. */
  id: number;
  node_id: string;
  fqdn: string;
  /** Where the others reach it, `https://host:port`; null until it has said so itself. */
  cluster_url: string | null;
  api_url: string | null;
  /** Where its SMTP gateway really listens, `host:port`; null until it has said so itself, as nodes of 0.4 never do. */
  smtp_listen: string | null;
  created_at: string;
}

export const nodeTable = recordTable<StoredNode>({name: 'node', toRow: node => ({...node})});

export const findNode = async (db: Db, id: number): Promise<StoredNode | undefined> => db<StoredNode>('node').where({id}).first();

/** All nodes of the cluster, this one included, in the order in which they joined. */
export const listNodes = async (db: Db): Promise<StoredNode[]> => db<StoredNode>('node').orderBy('id');
