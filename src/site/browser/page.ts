// What every page does beyond showing text: examples with the address of this site, and a button that copies them.
for (const element of document.querySelectorAll('[data-origin]')) element.textContent = location.origin

// Without a secure connection there is no clipboard.
for (const block of isSecureContext ? document.querySelectorAll('pre') : []) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(block.textContent).then(
      () => (button.textContent = 'Copied'),
      () => (button.textContent = 'Select and copy it'),
    )
    setTimeout(() => (button.textContent = 'Copy'), 2000)
  })
  const frame = document.createElement('div')
  frame.className = 'code'
  block.replaceWith(frame)
  frame.append(block, button)
}
