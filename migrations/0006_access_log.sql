-- The record of changes of partners and of signing keys: who, when, with which command and why, and the partner's state
-- after the change. It never holds a secret or a hash of one. Times are Unix seconds of D1's own clock.
--
-- The record is a chain: each entry holds the SHA-256 of the entry before it, so that a change of an old entry shows. SQL
-- can't compute that hash. An entry without one (the partners of today, below) is covered by the next entry that has one:
-- previous_hash is the hash of all entries since the last one that has a hash, this one included.

-- `contact` is how to reach the partner: a person's address, so it is in no log, and a closed partner has none. A partner
-- that is closed stays closed. It is also suspended, and has no secrets: the Worker refuses it like a suspended one.
ALTER TABLE partners ADD COLUMN contact TEXT CHECK (length(contact) BETWEEN 1 AND 200);
ALTER TABLE partners ADD COLUMN closed_at INTEGER CHECK (closed_at IS NULL OR (suspended_at IS NOT NULL AND contact IS NULL));

CREATE TABLE access_log (
  id            INTEGER PRIMARY KEY,
  changed_at    INTEGER NOT NULL,
  actor         TEXT    NOT NULL,
  command       TEXT    NOT NULL,
  note          TEXT,
  kind          TEXT    NOT NULL CHECK (kind IN (
    'recorded', 'create', 'rotate', 'replace-newest', 'suspend', 'resume', 'set-country', 'rename', 'set-contact', 'close',
    'keys-rotate', 'keys-rotate-failed', 'keys-drop', 'keys-drop-failed'
  )),
  partner       TEXT,
  name          TEXT,
  country       TEXT,
  suspended_at  INTEGER,
  closed_at     INTEGER,
  kid           TEXT,
  previous_hash TEXT,
  CHECK ((kind GLOB 'keys-*') = (kid IS NOT NULL)),
  CHECK ((kid IS NULL) = (partner IS NOT NULL) AND (kid IS NULL) = (country IS NOT NULL)),
  CHECK ((kind = 'recorded') = (previous_hash IS NULL))
) STRICT;

CREATE INDEX access_log_by_partner ON access_log (partner);

-- The state of each partner when the record begins.
INSERT INTO access_log (changed_at, actor, command, kind, partner, name, country, suspended_at)
SELECT unixepoch(), 'migration', '0006_access_log.sql', 'recorded', short_name, name, country, suspended_at
FROM partners ORDER BY id;

-- IDs have no gaps, and REPLACE can't overwrite an entry.
CREATE TRIGGER access_log_is_a_chain BEFORE INSERT ON access_log
WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM access_log)
BEGIN
  SELECT RAISE(ABORT, 'an entry must have the next ID');
END;

CREATE TRIGGER access_log_refuses_updates BEFORE UPDATE ON access_log
BEGIN
  SELECT RAISE(ABORT, 'the access log only grows');
END;

CREATE TRIGGER access_log_refuses_deletes BEFORE DELETE ON access_log
BEGIN
  SELECT RAISE(ABORT, 'the access log only grows');
END;

-- Changes are made by INSERTs into this view: a change and its entry are one statement, which is atomic on every transport.
CREATE VIEW access_changes AS
SELECT
  NULL AS id, NULL AS actor, NULL AS command, NULL AS note, NULL AS kind, NULL AS kid, NULL AS previous_hash,
  NULL AS partner, NULL AS name, NULL AS country, NULL AS contact, NULL AS client_id, NULL AS secret_hash,
  NULL AS grace_seconds
WHERE FALSE;

CREATE TRIGGER access_changes_apply INSTEAD OF INSERT ON access_changes
BEGIN
  -- An entry holds the hash of the entry that its writer has read, so no other may come in between. Checked first: an
  -- outdated change fails for no other reason. A view converts nothing: a parameter may be text.
  SELECT RAISE(ABORT, 'another entry came first')
  WHERE CAST(NEW.id AS INTEGER) IS NOT (SELECT coalesce(max(id), 0) + 1 FROM access_log);

  SELECT RAISE(ABORT, 'the partner is closed')
  WHERE NEW.kind <> 'create' AND EXISTS (SELECT 1 FROM partners WHERE short_name = NEW.partner AND closed_at IS NOT NULL);

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

  -- 'rotate': the current secrets expire after the grace period. 'replace-newest': the newest one expires now, an older
  -- one when it would have. The new secret comes before expired ones are deleted, so that its ID is new.
  UPDATE partner_secrets SET expires_at = unixepoch() + NEW.grace_seconds
  WHERE NEW.kind = 'rotate' AND partner_id = (SELECT id FROM partners WHERE short_name = NEW.partner)
    AND (expires_at IS NULL OR expires_at > unixepoch() + NEW.grace_seconds);
  UPDATE partner_secrets SET expires_at = unixepoch()
  WHERE NEW.kind = 'replace-newest' AND partner_id = (SELECT id FROM partners WHERE short_name = NEW.partner)
    AND expires_at IS NULL;
  INSERT INTO partner_secrets (partner_id, hash, created_at)
  SELECT id, NEW.secret_hash, unixepoch() FROM partners
  WHERE short_name = NEW.partner AND NEW.kind IN ('create', 'rotate', 'replace-newest');
  DELETE FROM partner_secrets
  WHERE NEW.kind IN ('rotate', 'replace-newest') AND partner_id = (SELECT id FROM partners WHERE short_name = NEW.partner)
    AND expires_at <= unixepoch();

  INSERT INTO access_log
    (id, changed_at, actor, command, note, kind, partner, name, country, suspended_at, closed_at, kid, previous_hash)
  VALUES (
    NEW.id, unixepoch(), NEW.actor, NEW.command, NEW.note, NEW.kind, NEW.partner,
    (SELECT name FROM partners WHERE short_name = NEW.partner),
    (SELECT country FROM partners WHERE short_name = NEW.partner),
    (SELECT suspended_at FROM partners WHERE short_name = NEW.partner),
    (SELECT closed_at FROM partners WHERE short_name = NEW.partner),
    NEW.kid, NEW.previous_hash
  );
END;
