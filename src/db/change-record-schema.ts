// The change record of partners and keys. Only the command line reads it: in schema.ts, it would become part of the
// Worker's bundle.
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const changeRecord = sqliteTable('change_record', {
  id: integer().primaryKey(),
  changedAt: integer('changed_at').notNull(),
  actor: text().notNull(),
  command: text().notNull(),
  note: text(),
  kind: text({
    enum: [
      'create',
      'rotate',
      'replace-newest',
      'suspend',
      'resume',
      'set-country',
      'rename',
      'set-contact',
      'close',
      'end-tokens',
      'lockdown',
      'keys-rotate',
      'keys-rotate-failed',
      'keys-drop',
      'keys-drop-failed',
    ],
  }).notNull(),
  partner: text(),
  name: text(),
  country: text(),
  suspendedAt: integer('suspended_at'),
  closedAt: integer('closed_at'),
  kid: text(),
  previousHash: text('previous_hash').notNull(),
})
