import { expect, test } from 'vitest'
import { readWranglerConfig } from '../../../src/ops/store/wrangler.ts'

test.each([undefined, 'staging', 'production'])('the schedule runs every minute in environment %s', async (env) => {
  expect((await readWranglerConfig(env)).triggers).toEqual({ crons: ['* * * * *'] })
})
