// The Worker's entry point: one app per isolate, and the schedule.
import { createApp } from './app.ts'
import { createIsolate } from './isolate.ts'
import { publishDue } from './publish-due.ts'

export default {
  fetch: createApp(createIsolate()).fetch,
  scheduled: (_controller, { DB, VERSION, USAGE }) => publishDue(DB, VERSION?.id, USAGE),
} satisfies ExportedHandler<Env>
