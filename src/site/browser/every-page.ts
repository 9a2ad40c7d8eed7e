// What every page does beyond showing text.

// Examples have the address of this site.
for (const element of document.querySelectorAll('[data-origin]')) element.textContent = location.origin

// On a phone the navigation is a strip, of which the current page may be out of sight.
const strip = document.querySelector('nav.pages')
const current = strip?.querySelector('[aria-current]')
if (strip && current) strip.scrollLeft += current.getBoundingClientRect().left - strip.clientWidth / 2

const announcement = document.createElement('p')
announcement.className = 'visually-hidden'
announcement.setAttribute('role', 'status')
document.body.append(announcement)

// Without a secure connection there is no clipboard.
for (const block of isSecureContext ? document.querySelectorAll('pre') : []) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.setAttribute('aria-label', `Copy ${block.textContent.split('\n', 1)[0]}`)
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(block.textContent).then(
      () => tell(button, 'Copied'),
      () => tell(button, 'Select it and copy it'),
    )
  })
  const frame = document.createElement('div')
  frame.className = 'code'
  block.replaceWith(frame)
  frame.append(block, button)
}

function tell(button: HTMLButtonElement, text: string): void {
  button.textContent = text
  announcement.textContent = text
  setTimeout(() => {
    button.textContent = 'Copy'
    announcement.textContent = ''
  }, 2000)
}
