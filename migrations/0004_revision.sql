-- The catalog's revision: every change raises it, and cached lists of another revision are outdated. A new revision is at
-- least the time in Unix milliseconds, so that a database that was restored never uses a revision twice. Code older than
-- this migration does not run on it.

ALTER TABLE catalog_version RENAME TO catalog_revision;
ALTER TABLE catalog_revision RENAME COLUMN version TO revision;
