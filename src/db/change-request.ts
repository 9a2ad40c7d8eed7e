// The changes that the record of partners and signing keys has entries of.

export type KeyChangeKind = 'keys-rotate' | 'keys-rotate-failed' | 'keys-drop' | 'keys-drop-failed'

/** The ways to replace a partner's secrets. */
export type SecretReplacement =
  | { kind: 'rotate'; graceSeconds: number }
  /** The newest secret ends now; an older one keeps its expiry. */
  | { kind: 'replace-newest' }
  /** Every secret ends now, and every token that was issued so far. */
  | { kind: 'lockdown' }

/** A change of a partner, or of a signing key, which is not in the database: only its entry is. */
export type ChangeRequest =
  | { kind: 'create'; partner: string; name: string; country: string; clientId: string; secretHash: string }
  | (SecretReplacement & { partner: string; secretHash: string })
  | { kind: 'suspend' | 'resume' | 'close' | 'end-tokens'; partner: string }
  | { kind: 'set-country'; partner: string; country: string }
  | { kind: 'rename'; partner: string; name: string }
  | { kind: 'set-contact'; partner: string; contact: string | null }
  | { kind: KeyChangeKind; kid: string }
