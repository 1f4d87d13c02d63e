-- insert
insert into "api_keys" ("seq", "key_id", "tenant", "label", "prefix", "digest", "created_at", "created_by", "expires_at", "revoked_at", "revoked_by", "last_used_at", "roles", "user_patterns", "agent_patterns") values ((select coalesce(max(seq) + 1, ?) from api_keys where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- findByPrefix
select * from "api_keys" where "prefix" = ?;

-- find
select * from "api_keys" where "key_id" = ? and "tenant" = ?;

-- find in any tenant
select * from "api_keys" where "key_id" = ?;

-- list
select * from "api_keys" where "tenant" = ? and "seq" > ? order by "seq" limit ?;

-- revoke
update "api_keys" set "revoked_at" = ?, "revoked_by" = ? where "key_id" = ? and "revoked_at" is null;
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- touch
update "api_keys" set "last_used_at" = ? where "key_id" = ?;
