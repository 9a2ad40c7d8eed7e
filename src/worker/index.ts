// The Worker's entry point: one app per isolate.
import { createApp } from './app.ts'
import { createIsolate } from './isolate.ts'

export default createApp(createIsolate()) satisfies ExportedHandler<Env>
