-- current
select * from "settings_versions" order by "version" desc limit ?;

-- put
select max("version") as "version" from "settings_versions";
insert into "settings_versions" ("version", "document", "created_at") values (?, ?, ?);
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- history
select * from "settings_versions" order by "version" desc limit ?;

-- history from a version on
select * from "settings_versions" where "version" < ? order by "version" desc limit ?;
