// Postfix as what ours is held against: one that holds all mail, and one that takes all mail and delivers it to nowhere.
import type {Owner} from '../../helpers/daemon.ts';
import {type PrivatePostfix, startPostfix} from '../../helpers/postfix.ts';

/** Else it makes clients wait that send faster than it delivers, and held mail is never delivered. */
const unslowed = {in_flow_delay: '0'};

export const startHoldingPostfix = async (owner: Owner): Promise<PrivatePostfix> =>
  startPostfix(owner, {
    settings: {...unslowed, smtpd_recipient_restrictions: 'check_recipient_access static:HOLD, permit_mynetworks, reject'},
  });

export const startDiscardingPostfix = async (owner: Owner): Promise<PrivatePostfix> =>
  startPostfix(owner, {settings: {...unslowed, relay_transport: 'discard:', default_transport: 'discard:'}});
