// Lets commands read the record of the changes of partners and keys.
export {
  selectKeyEntries,
  selectPartnerEntries,
  type KeyEntry,
  type PartnerEntry,
} from '../../../db/partner-queries.ts'
