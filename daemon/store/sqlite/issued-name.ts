// Host names and addresses that this node's authority has put into the certificates of nodes. Kept here, and never replicated.
import type {Db} from './database.ts';

export interface IssuedName {
  node_no: number;
  /** Canonical, see `canonicalHost`. */
  host: string;
}

export const listIssuedNames = async (db: Db): Promise<IssuedName[]> =>
  (await db<IssuedName>('issued_name').orderBy(['node_no', 'host'])).map(row => ({...row, node_no: Number(row.node_no)}));

export const addIssuedNames = async (tx: Db, names: readonly IssuedName[]): Promise<void> => {
  if (names.length > 0)
    await tx<IssuedName>('issued_name')
      .insert([...names])
      .onConflict(['node_no', 'host'])
      .ignore();
};

/** A node with a new certificate has the names in it, and no others. */
export const replaceIssuedNames = async (tx: Db, nodeNo: number, hosts: readonly string[]): Promise<void> => {
  await tx<IssuedName>('issued_name').where({node_no: nodeNo}).delete();
  await addIssuedNames(
    tx,
    hosts.map(host => ({node_no: nodeNo, host})),
  );
};
