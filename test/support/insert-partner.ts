// A partner with one secret, without an entry in the record, whichever runtime the test is in.

export interface PartnerRow {
  shortName: string
  country: string
  clientId: string
  secretHash: string
}

/** Not a batch: under load, Miniflare can free the statements of a batch before the batch reaches it. */
export async function insertPartner(d1: D1Database, partner: PartnerRow): Promise<void> {
  const { shortName, country, clientId, secretHash } = partner
  await d1
    .prepare('insert into partners (short_name, name, country, client_id, created_at) values (?, ?, ?, ?, 0)')
    .bind(shortName, shortName, country, clientId)
    .run()
  await d1
    .prepare(
      'insert into partner_secrets (partner_id, hash, created_at) select id, ?, 0 from partners where client_id = ?',
    )
    .bind(secretHash, clientId)
    .run()
}
