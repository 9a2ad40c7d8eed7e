// The Worker's entry point: one app per isolate, and the schedule.
import { createApp } from './app.ts'
import { createIsolate } from './isolate.ts'
import { readVersionId } from './log.ts'
import { publishDue } from './publish-due.ts'

export default {
  fetch: createApp(createIsolate()).fetch,
  scheduled: (_controller, { DB, VERSION }) => publishDue(DB, readVersionId(VERSION)),
} satisfies ExportedHandler<Env>
