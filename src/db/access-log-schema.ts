// The table of changes of partners and keys. Only the command line reads it: in schema.ts, it would become part of the
// Worker's bundle.
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const accessLog = sqliteTable(
  'access_log',
  {
    id: integer().primaryKey(),
    changedAt: integer('changed_at').notNull(),
    actor: text().notNull(),
    command: text().notNull(),
    note: text(),
    kind: text({
      enum: [
        'recorded',
        'create',
        'rotate',
        'replace-newest',
        'suspend',
        'resume',
        'set-country',
        'rename',
        'set-contact',
        'close',
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
    previousHash: text('previous_hash'),
  },
  (table) => [index('access_log_by_partner').on(table.partner)],
)
