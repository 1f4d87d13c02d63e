-- insert
insert into "security_events" ("seq", "event_id", "type", "tenant", "actor", "address", "subject", "at", "count", "last_at", "details") values ((select coalesce(max(seq) + 1, ?) from security_events where seq between ? and ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- recount
update "security_events" set "count" = ?, "last_at" = ? where "event_id" = ?;

-- list
select * from "security_events" order by "seq" desc limit ?;

-- list of a tenant
select * from "security_events" where "tenant" = ? and "seq" < ? order by "seq" desc limit ?;

-- list of a type
select * from "security_events" where "type" = ? order by "seq" desc limit ?;

-- list of a type in a tenant
select * from "security_events" where "tenant" = ? and "type" = ? and "seq" < ? order by "seq" desc limit ?;
