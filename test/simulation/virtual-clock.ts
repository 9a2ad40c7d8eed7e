// A clock that jumps from event to event.

export interface VirtualClock {
  /** Virtual Unix milliseconds, with fractions. */
  now: () => number
  /** Runs `action` at a virtual time. Actions of the same time run in the order of their scheduling. */
  at: (timeMs: number, action: () => void) => ScheduledEvent
  /** Runs all events up to a time, and lets all promises settle after each. Ends early when `isDone` says so. */
  runUntil: (timeMs: number, isDone?: () => boolean) => Promise<void>
}

export interface ScheduledEvent {
  cancel: () => void
}

class QueuedEvent implements ScheduledEvent {
  readonly timeMs: number
  readonly order: number
  action: (() => void) | undefined

  constructor(timeMs: number, order: number, action: () => void) {
    this.timeMs = timeMs
    this.order = order
    this.action = action
  }

  /** The event stays in the queue, but holds no memory of its action. */
  cancel(): void {
    this.action = undefined
  }

  isBefore(other: QueuedEvent): boolean {
    return this.timeMs < other.timeMs || (this.timeMs === other.timeMs && this.order < other.order)
  }
}

export function createVirtualClock(startMs: number): VirtualClock {
  let nowMs = startMs
  let scheduled = 0
  /** A binary heap: each event is before its children at 2i + 1 and 2i + 2. */
  const queue: QueuedEvent[] = []

  function push(event: QueuedEvent): void {
    let index = queue.length
    queue.push(event)
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = queue[parentIndex]!
      if (parent.isBefore(event)) break
      queue[index] = parent
      index = parentIndex
    }
    queue[index] = event
  }

  function pop(): QueuedEvent | undefined {
    const first = queue[0]
    const last = queue.pop()
    if (first === undefined || last === undefined || first === last) return first
    let index = 0
    for (;;) {
      let childIndex = 2 * index + 1
      if (childIndex >= queue.length) break
      const right = queue[childIndex + 1]
      if (right?.isBefore(queue[childIndex]!)) childIndex++
      const child = queue[childIndex]!
      if (last.isBefore(child)) break
      queue[index] = child
      index = childIndex
    }
    queue[index] = last
    return first
  }

  return {
    now: () => nowMs,
    at: (timeMs, action) => {
      const event = new QueuedEvent(Math.max(timeMs, nowMs), scheduled++, action)
      push(event)
      return event
    },
    runUntil: async (timeMs, isDone = () => false) => {
      while (queue[0] !== undefined && queue[0].timeMs <= timeMs && !isDone()) {
        const event = pop()
        if (event?.action === undefined) continue
        nowMs = event.timeMs
        event.action()
        await settlePromises()
      }
      if (!isDone()) nowMs = Math.max(nowMs, timeMs)
    },
  }
}

/** Node runs immediates after all microtasks. That is enough, because the simulation leaves no real I/O. */
function settlePromises(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
