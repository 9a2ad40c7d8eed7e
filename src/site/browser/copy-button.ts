// The copy buttons beside code: of every page, and of what "Try it" shows.

const liveRegion = document.createElement('p')
liveRegion.className = 'visually-hidden'
liveRegion.setAttribute('role', 'status')
document.body.append(liveRegion)

/** Puts a button beside each block of code. The clipboard needs a secure context (HTTPS or localhost). */
export function addCopyButtons(part: ParentNode): void {
  for (const block of isSecureContext ? part.querySelectorAll('pre') : []) {
    const copy = () => navigator.clipboard.writeText(block.textContent)
    const button = makeCopyButton('copy', 'Copy', copy, 'Can’t copy: select the text')
    button.setAttribute('aria-label', `Copy ${block.textContent.split('\n', 1)[0]}`)
    const frame = document.createElement('div')
    frame.className = 'code'
    block.replaceWith(frame)
    frame.append(block, button)
  }
}

export function makeCopyButton(
  className: string,
  label: string,
  copy: () => Promise<void>,
  failure: string,
): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = className
  button.textContent = label
  button.addEventListener('click', () => {
    copy().then(
      () => announce(button, label, 'Copied'),
      () => announce(button, label, failure),
    )
  })
  return button
}

/** Shows a message in place of the label for two seconds, and reads it to screen readers. */
function announce(button: HTMLElement, label: string, message: string): void {
  button.textContent = message
  liveRegion.textContent = message
  setTimeout(() => {
    button.textContent = label
    liveRegion.textContent = ''
  }, 2000)
}
