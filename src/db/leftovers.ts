// Deletes personal and secret values that are no longer needed. The command line and the Worker's schedule call it.
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { writeAssignments } from './column-values.ts'
import type { Database } from './database.ts'
import { changeRecord, partnerContacts } from './schema.ts'

const newest = alias(changeRecord, 'newest')

/** Deletes secret hashes from each partner's older rows of the record, and the contacts of ended partners. */
export async function deleteLeftovers(db: Database): Promise<void> {
  await db.run(sql`
    update ${changeRecord} set ${writeAssignments(changeRecord, { secrets: null })}
    where ${changeRecord.secrets} is not null and ${changeRecord.id} < (
      select max(${newest.id}) from ${changeRecord} as ${newest} where ${newest.shortName} = ${changeRecord.shortName}
    )`)
  await db.run(sql`
    delete from ${partnerContacts} where exists (
      select 1 from ${changeRecord}
      where ${changeRecord.shortName} = ${partnerContacts.shortName} and ${changeRecord.endedAt} is not null
    )`)
}
