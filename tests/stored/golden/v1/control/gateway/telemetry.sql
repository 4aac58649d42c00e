BEGIN TRANSACTION;
CREATE TABLE telemetry (
    id INTEGER PRIMARY KEY,
    received INTEGER NOT NULL,
    time INTEGER NOT NULL,
    signal TEXT NOT NULL,
    org TEXT NOT NULL,
    install TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    trace TEXT NOT NULL,
    span TEXT NOT NULL,
    attributes TEXT NOT NULL
) STRICT;
INSERT INTO "telemetry" VALUES(1,1767323045000000000,1,'logs','dev','acme','00000000000000000000000000000000','INFO','hello','000102030405060708090a0b0c0d0e0f','','{"scope": "worker", "resource": {"service.name": "worker"}}');
INSERT INTO "telemetry" VALUES(2,1767323045000000000,1,'traces','dev','acme','00000000000000000000000000000000','apply','error, 1.500 s engine failed','000102030405060708090a0b0c0d0e0f','0001020304050607','{"scope": "", "resource": {}}');
INSERT INTO "telemetry" VALUES(3,1767323045000000000,5,'metrics','dev','acme','00000000000000000000000000000000','tools','[{"timeUnixNano": "5", "asInt": "1"}]','','','{"unit": "1", "kind": "gauge", "scope": "", "resource": {}}');
CREATE INDEX telemetry_by_install ON telemetry (org, install, time);
CREATE INDEX telemetry_by_trace ON telemetry (trace) WHERE trace <> '';
COMMIT;
