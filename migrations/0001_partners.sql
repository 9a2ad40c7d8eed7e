-- Partners and the hashes of their client secrets. Times are Unix seconds.

CREATE TABLE partners (
  id           INTEGER PRIMARY KEY,
  short_name   TEXT    NOT NULL UNIQUE CHECK (length(short_name) BETWEEN 2 AND 32 AND short_name NOT GLOB '*[^a-z0-9-]*'),
  name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  country      TEXT    NOT NULL CHECK (country GLOB '[A-Z][A-Z]'),
  client_id    TEXT    NOT NULL UNIQUE CHECK (length(client_id) = 16 AND client_id NOT GLOB '*[^A-Za-z0-9]*'),
  created_at   INTEGER NOT NULL,
  suspended_at INTEGER
) STRICT;

-- A secret without expires_at is valid until it is rotated. A rotated secret is valid until expires_at.
CREATE TABLE partner_secrets (
  id         INTEGER PRIMARY KEY,
  partner_id INTEGER NOT NULL REFERENCES partners (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  hash       TEXT    NOT NULL UNIQUE CHECK (hash GLOB '$pbkdf2-sha256$*'),
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT;

CREATE INDEX partner_secrets_by_partner ON partner_secrets (partner_id);
