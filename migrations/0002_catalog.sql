-- The plan catalog. Country codes are ISO 3166-1 alpha-2, currency codes ISO 4217, amounts in major units.

CREATE TABLE plan_categories (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL,
  display_name TEXT NOT NULL,
  tag_line     TEXT NOT NULL
) STRICT;

CREATE TABLE plan_types (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE risk_levels (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE fund_managers (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE plans (
  id                      INTEGER PRIMARY KEY,
  identifier              TEXT    NOT NULL UNIQUE,
  name                    TEXT    NOT NULL,
  cool_name               TEXT    NOT NULL,
  about                   TEXT    NOT NULL,
  hint                    TEXT    NOT NULL,
  image_url               TEXT    NOT NULL CHECK (image_url GLOB 'https://?*'),
  thumbnail               TEXT    NOT NULL CHECK (thumbnail GLOB 'https://?*'),
  sector                  TEXT    NOT NULL,
  fund_type               TEXT    NOT NULL,
  profit_type             TEXT    NOT NULL,
  profit_type_description TEXT    NOT NULL,
  performance_1           REAL,
  performance_3           REAL,
  performance_5           REAL,
  performance_10          REAL,
  performance_date        TEXT    NOT NULL CHECK (performance_date IS date(performance_date)),
  currency                TEXT    NOT NULL CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
  tenor                   TEXT    NOT NULL,
  lock_in_period_days     INTEGER NOT NULL CHECK (lock_in_period_days >= 0),
  is_partial_withdrawable INTEGER NOT NULL CHECK (is_partial_withdrawable IN (0, 1)),
  fact_sheet              TEXT    NOT NULL CHECK (fact_sheet GLOB 'https://?*'),
  prospectus              TEXT    NOT NULL CHECK (prospectus GLOB 'https://?*'),
  is_investable           INTEGER NOT NULL CHECK (is_investable IN (0, 1)),
  non_investable_note     TEXT,
  category_id             INTEGER REFERENCES plan_categories (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  plan_type_id            INTEGER REFERENCES plan_types (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  risk_level_id           INTEGER REFERENCES risk_levels (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  fund_manager_id         INTEGER REFERENCES fund_managers (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  fund_currency           TEXT    CHECK (fund_currency GLOB '[A-Z][A-Z][A-Z]'),
  CHECK ((is_investable = 1) = (non_investable_note IS NULL))
) STRICT;

-- For the foreign keys: deleting a row of a lookup table searches the plans that refer to it.
CREATE INDEX plans_by_category ON plans (category_id);
CREATE INDEX plans_by_plan_type ON plans (plan_type_id);
CREATE INDEX plans_by_risk_level ON plans (risk_level_id);
CREATE INDEX plans_by_fund_manager ON plans (fund_manager_id);

CREATE TABLE plan_minimums (
  plan_id               INTEGER NOT NULL REFERENCES plans (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  currency              TEXT    NOT NULL CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
  min_investable_amount REAL    CHECK (min_investable_amount >= 0),
  min_top_up_amount     REAL    CHECK (min_top_up_amount >= 0),
  PRIMARY KEY (plan_id, currency),
  CHECK (min_investable_amount IS NOT NULL OR min_top_up_amount IS NOT NULL)
) STRICT, WITHOUT ROWID;

-- A plan is in a country's list if and only if it has a row here. Lists are read in the order of the key.
CREATE TABLE plan_viewability (
  country TEXT    NOT NULL CHECK (country GLOB '[A-Z][A-Z]'),
  plan_id INTEGER NOT NULL REFERENCES plans (id) ON UPDATE RESTRICT ON DELETE RESTRICT,
  PRIMARY KEY (country, plan_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX plan_viewability_by_plan ON plan_viewability (plan_id);
