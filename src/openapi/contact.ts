// Whom partners write to. DEPLOY.md says to replace it. openapi.json, the site and security.txt show it.
export const contact = { name: 'Partner support', email: 'support@catalog.example.com' }
