-- Partners, their client secrets, and the record of every change of a partner or of a key that signs tokens.
-- Times are Unix seconds of the clock of D1.

-- A partner gets tokens with its client ID and a secret, and lists the plans of its country.
CREATE TABLE partners (
  id                INTEGER PRIMARY KEY,
  short_name        TEXT    NOT NULL UNIQUE CHECK (length(short_name) BETWEEN 2 AND 32 AND short_name NOT GLOB '*[^a-z0-9-]*'),
  -- The name for people.
  name              TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  country           TEXT    NOT NULL CHECK (country GLOB '[A-Z][A-Z]'),
  client_id         TEXT    NOT NULL UNIQUE CHECK (length(client_id) = 16 AND client_id NOT GLOB '*[^A-Za-z0-9]*'),
  created_at        INTEGER NOT NULL,
  -- The Worker refuses a suspended partner.
  suspended_at      INTEGER,
  -- How to reach the partner: the address of a person, so it is in no log and not in the record.
  contact           TEXT    CHECK (length(contact) BETWEEN 1 AND 200),
  -- A closed partner stays closed. It is also suspended, and has neither a contact nor secrets.
  closed_at         INTEGER,
  -- Reserved, and not read yet: tokens from before this time are to be refused.
  tokens_valid_from INTEGER,
  CHECK (closed_at IS NULL OR (suspended_at IS NOT NULL AND contact IS NULL))
) STRICT;

-- The hashes of the client secrets. The current secret of a partner has no expires_at. A rotation adds the next secret,
-- and the old one expires at the end of its grace period.
CREATE TABLE partner_secrets (
  id         INTEGER PRIMARY KEY,
  partner_id INTEGER NOT NULL REFERENCES partners (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  hash       TEXT    NOT NULL UNIQUE CHECK (hash GLOB '$pbkdf2-sha256$*'),
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT;

CREATE INDEX partner_secrets_by_partner ON partner_secrets (partner_id);

CREATE TRIGGER partner_secrets_at_most_two_live BEFORE INSERT ON partner_secrets
WHEN (
  SELECT count(*) FROM partner_secrets
  WHERE partner_id = NEW.partner_id AND (expires_at IS NULL OR expires_at > NEW.created_at)
) >= 2
BEGIN
  SELECT RAISE(ABORT, 'two_live_secrets');
END;

-- The change record: who changed a partner or a key, when, with which command and why, and the partner after the change.
-- It holds no secret, no hash of one, no client ID and no contact. Keys are not in the database: only their entries are.
CREATE TABLE change_record (
  id            INTEGER PRIMARY KEY,
  changed_at    INTEGER NOT NULL,
  actor         TEXT    NOT NULL,
  command       TEXT    NOT NULL,
  note          TEXT,
  -- Nothing writes end-tokens and lockdown yet. They are here because a CHECK can not be extended later.
  kind          TEXT    NOT NULL CHECK (kind IN (
    'create', 'rotate', 'replace-newest', 'suspend', 'resume', 'set-country', 'rename', 'set-contact', 'close',
    'end-tokens', 'lockdown', 'keys-rotate', 'keys-rotate-failed', 'keys-drop', 'keys-drop-failed'
  )),
  -- The short name of the partner, and its columns after the change. NULL for a key.
  partner       TEXT,
  name          TEXT,
  country       TEXT,
  suspended_at  INTEGER,
  closed_at     INTEGER,
  -- The ID of the key. NULL for a partner.
  kid           TEXT,
  -- The SHA-256 of the entry before this one, so that a change of an old entry shows.
  previous_hash TEXT    NOT NULL,
  CHECK ((kind GLOB 'keys-*') = (kid IS NOT NULL)),
  CHECK ((kid IS NULL) = (partner IS NOT NULL) AND (kid IS NULL) = (country IS NOT NULL))
) STRICT;

CREATE INDEX change_record_by_partner ON change_record (partner);

-- IDs have no gaps, and REPLACE can not overwrite an entry.
CREATE TRIGGER change_record_is_a_chain BEFORE INSERT ON change_record
WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM change_record)
BEGIN
  SELECT RAISE(ABORT, 'entry_order');
END;

CREATE TRIGGER change_record_refuses_updates BEFORE UPDATE ON change_record
BEGIN
  SELECT RAISE(ABORT, 'append_only');
END;

CREATE TRIGGER change_record_refuses_deletes BEFORE DELETE ON change_record
BEGIN
  SELECT RAISE(ABORT, 'append_only');
END;

-- Every change is an INSERT into this view. A row has the columns of an entry, and the values that the record must not hold.
-- The trigger makes the change and writes the entry, so both are one statement, which is atomic on every transport.
CREATE VIEW change_requests AS
SELECT change_record.*, NULL AS contact, NULL AS client_id, NULL AS secret_hash, NULL AS grace_seconds
FROM change_record;

CREATE TRIGGER change_requests_apply INSTEAD OF INSERT ON change_requests
BEGIN
  -- Another entry came first: the caller decides again. Checked before anything else, so that no other check fails because
  -- of that entry. A view converts no value, and the HTTP API sends numbers as text.
  SELECT RAISE(ABORT, 'entry_order')
  WHERE CAST(NEW.id AS INTEGER) IS NOT (SELECT coalesce(max(id), 0) + 1 FROM change_record);

  SELECT RAISE(ABORT, 'partner_closed')
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

  -- rotate: the current secrets expire after the grace period. replace-newest: the newest one expires now, an older one
  -- keeps its time. The new secret is inserted before expired ones are deleted, so that it gets a new ID.
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

  -- A change of a partner that does not exist fails here: its country would be NULL.
  INSERT INTO change_record
    (id, changed_at, actor, command, note, kind, partner, name, country, suspended_at, closed_at, kid, previous_hash)
  SELECT
    NEW.id, unixepoch(), NEW.actor, NEW.command, NEW.note, NEW.kind, NEW.partner,
    name, country, suspended_at, closed_at, NEW.kid, NEW.previous_hash
  FROM (SELECT 1) LEFT JOIN partners ON short_name = NEW.partner;
END;
