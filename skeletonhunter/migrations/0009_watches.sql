-- What an agent watches: of such a component, silence on device-events says something.

ALTER TABLE agent_health
    ADD COLUMN IF NOT EXISTS watches Array(String)
        COMMENT 'component ids whose troubles it would report; empty: none, or it does not say' CODEC(ZSTD(1)) AFTER plan_version;
