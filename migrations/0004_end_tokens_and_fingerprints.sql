-- Ending tokens and secrets after a leak, and a record that shows which secret a change made.
--
-- partners.tokens_valid_from is read from now on: the Worker refuses a token that was issued (iat) before it. end-tokens and
-- lockdown set it.
--
-- Entries from now on hold more than the comment in 0001 says: the client ID, and for a change that made a secret its
-- fingerprint, so that a secret or a client ID that was replaced without an entry shows. They still hold no secret, no stored
-- hash and no contact. Entries from before have NULL in the three columns.
--
-- The hash of an entry covers the new columns. A command line that does not know them would write an entry with a wrong hash
-- of the one before, which can never be corrected: it is refused, because it names no record_version.

DROP VIEW change_requests;

ALTER TABLE change_record ADD COLUMN client_id TEXT;
-- The SHA-256 of the stored hash of the new secret, in hexadecimal. NULL when no secret was made.
ALTER TABLE change_record ADD COLUMN secret_fingerprint TEXT CHECK (length(secret_fingerprint) = 64);
ALTER TABLE change_record ADD COLUMN tokens_valid_from INTEGER;

-- The view and the trigger of 0001 with end-tokens, lockdown and the columns above. Every change is an INSERT into this view.
CREATE VIEW change_requests AS
SELECT change_record.*, NULL AS contact, NULL AS secret_hash, NULL AS grace_seconds, NULL AS record_version
FROM change_record;

CREATE TRIGGER change_requests_apply INSTEAD OF INSERT ON change_requests
BEGIN
  SELECT RAISE(ABORT, 'outdated_command_line') WHERE CAST(NEW.record_version AS INTEGER) IS NOT 2;

  -- Another entry came first: the caller decides again. Checked before the state of the partner, so that no other check fails
  -- because of that entry. A view converts no value, and the HTTP API sends numbers as text.
  SELECT RAISE(ABORT, 'entry_order')
  WHERE CAST(NEW.id AS INTEGER) IS NOT (SELECT coalesce(max(id), 0) + 1 FROM change_record);

  SELECT RAISE(ABORT, 'partner_closed')
  WHERE NEW.kind <> 'create' AND EXISTS (SELECT 1 FROM partners WHERE short_name = NEW.partner AND closed_at IS NOT NULL);

  SELECT RAISE(ABORT, 'secret_fingerprint')
  WHERE (NEW.kind IN ('create', 'rotate', 'replace-newest', 'lockdown')) IS NOT (NEW.secret_fingerprint IS NOT NULL);

  INSERT INTO partners (short_name, name, country, client_id, created_at)
  SELECT NEW.partner, NEW.name, NEW.country, NEW.client_id, unixepoch() WHERE NEW.kind = 'create';

  UPDATE partners SET country = NEW.country WHERE short_name = NEW.partner AND NEW.kind = 'set-country';
  UPDATE partners SET suspended_at = unixepoch() WHERE short_name = NEW.partner AND NEW.kind = 'suspend';
  UPDATE partners SET suspended_at = NULL WHERE short_name = NEW.partner AND NEW.kind = 'resume';
  UPDATE partners SET name = NEW.name WHERE short_name = NEW.partner AND NEW.kind = 'rename';
  UPDATE partners SET contact = NEW.contact WHERE short_name = NEW.partner AND NEW.kind = 'set-contact';
  UPDATE partners SET closed_at = unixepoch(), suspended_at = coalesce(suspended_at, unixepoch()), contact = NULL
  WHERE short_name = NEW.partner AND NEW.kind = 'close';
  DELETE FROM partner_secrets
  WHERE NEW.kind = 'close' AND partner_id = (SELECT id FROM partners WHERE short_name = NEW.partner);

  -- A token of this second has this second as its iat, or the time that an earlier change set here. So the time always
  -- moves forward, even if the clock stepped back.
  UPDATE partners SET tokens_valid_from = max(coalesce(tokens_valid_from, 0), unixepoch()) + 1
  WHERE short_name = NEW.partner AND NEW.kind IN ('end-tokens', 'lockdown');

  -- rotate: the current secrets expire after the grace period. lockdown: every secret expires now. replace-newest: the newest
  -- one expires now, an older one keeps its time. The new secret is inserted before expired ones are deleted, so that it gets
  -- a new ID.
  UPDATE partner_secrets SET expires_at = unixepoch() + coalesce(NEW.grace_seconds, 0)
  WHERE NEW.kind IN ('rotate', 'lockdown') AND partner_id = (SELECT id FROM partners WHERE short_name = NEW.partner)
    AND (expires_at IS NULL OR expires_at > unixepoch() + coalesce(NEW.grace_seconds, 0));
  UPDATE partner_secrets SET expires_at = unixepoch()
  WHERE NEW.kind = 'replace-newest' AND partner_id = (SELECT id FROM partners WHERE short_name = NEW.partner)
    AND expires_at IS NULL;
  INSERT INTO partner_secrets (partner_id, hash, created_at)
  SELECT id, NEW.secret_hash, unixepoch() FROM partners
  WHERE short_name = NEW.partner AND NEW.kind IN ('create', 'rotate', 'replace-newest', 'lockdown');
  DELETE FROM partner_secrets
  WHERE NEW.kind IN ('rotate', 'replace-newest', 'lockdown')
    AND partner_id = (SELECT id FROM partners WHERE short_name = NEW.partner) AND expires_at <= unixepoch();

  -- A change of a partner that does not exist fails here: its country would be NULL.
  INSERT INTO change_record
    (id, changed_at, actor, command, note, kind, partner, name, country, suspended_at, closed_at, kid, previous_hash,
     client_id, secret_fingerprint, tokens_valid_from)
  SELECT
    NEW.id, unixepoch(), NEW.actor, NEW.command, NEW.note, NEW.kind, NEW.partner,
    name, country, suspended_at, closed_at, NEW.kid, NEW.previous_hash,
    client_id, NEW.secret_fingerprint, tokens_valid_from
  FROM (SELECT 1) LEFT JOIN partners ON short_name = NEW.partner;
END;
