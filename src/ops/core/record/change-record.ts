// The record of the changes of partners and keys, for the commands.
export {
  selectKeyEntries,
  selectPartnerEntries,
  type KeyEntry,
  type PartnerEntry,
} from '../../../db/partner-queries.ts'
