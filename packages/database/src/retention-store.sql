-- agedExecs
select "seq", "exec_id", "tenant", "project_id", "artifacts_path", "ended_at" from "sandbox_execs" where "files_removed_at" is null and "ended_at" < ? and ("ended_at" >= ? and ("ended_at" > ? or "seq" > ?)) order by "ended_at", "seq" limit ?;

-- entombExecs
update "sandbox_execs" set "files_removed_at" = ?, "files_removed_reason" = ?, "files_removed_by" = ? where "exec_id" in (?) and "files_removed_at" is null and "status" not in (?, ?, ?) returning "exec_id";
insert into "sandbox_exec_leftovers" ("exec_id") values (?);

-- leftovers
select "sandbox_execs"."exec_id", "tenant", "project_id", "artifacts_path" from "sandbox_exec_leftovers" inner join "sandbox_execs" on "sandbox_execs"."exec_id" = "sandbox_exec_leftovers"."exec_id" limit ?;

-- settle
delete from "sandbox_exec_leftovers" where "exec_id" in (?);

-- projects

    with recursive ids(project_id, n) as (
      select (select min(project_id) from sandbox_execs where tenant = ? and project_id > ?), 1
      union all
      select (select min(project_id) from sandbox_execs where tenant = ? and project_id > ids.project_id), n + 1 from ids where ids.project_id is not null and n < ?
    ),
    begun as (
      select ids.project_id, coalesce((
        select max(through_seq) from project_removals
        where tenant = ? and project_id = ids.project_id and scope = 'project'
      ), -1) as seq
      from ids where ids.project_id is not null
    )
    select begun.project_id,
      (select count(*) from sandbox_execs
        where tenant = ? and project_id = begun.project_id and seq > begun.seq) as execs,
      (select coalesce(ended_at, created_at) from sandbox_execs
        where tenant = ? and project_id = begun.project_id and seq > begun.seq
        order by seq desc limit 1) as last_used_at,
      (select changed_at from project_changes
        where tenant = ? and project_id = begun.project_id) as changed_at
    from begun
    order by begun.project_id;

-- projects of a limited key

    with recursive ids(project_id, n) as (
      select (select min(project_id) from sandbox_execs where tenant = ? and project_id > ?), 1
      union all
      select (select min(project_id) from sandbox_execs where tenant = ? and project_id > ids.project_id), n + 1 from ids where ids.project_id is not null and n < ?
    ),
    begun as (
      select ids.project_id, coalesce((
        select max(through_seq) from project_removals
        where tenant = ? and project_id = ids.project_id and scope = 'project'
      ), -1) as seq
      from ids where ids.project_id is not null
    )
    select begun.project_id,
      (select count(*) from sandbox_execs
        where tenant = ? and project_id = begun.project_id and seq > begun.seq and (+sandbox_execs.actor = ? or (("sandbox_execs"."user_id" glob ? or "sandbox_execs"."user_id" glob ?) and ("sandbox_execs"."agent_id" glob ?)))) as execs,
      (select coalesce(ended_at, created_at) from sandbox_execs
        where tenant = ? and project_id = begun.project_id and seq > begun.seq and (+sandbox_execs.actor = ? or (("sandbox_execs"."user_id" glob ? or "sandbox_execs"."user_id" glob ?) and ("sandbox_execs"."agent_id" glob ?)))
        order by seq desc limit 1) as last_used_at,
      (select changed_at from project_changes
        where tenant = ? and project_id = begun.project_id) as changed_at
    from begun
    order by begun.project_id;

-- lastUse
select "seq", "created_at", "ended_at" from "sandbox_execs" where "tenant" = ? and "project_id" = ? order by "seq" desc limit ?;
select max("through_seq") as "seq" from "project_removals" where "tenant" = ? and "project_id" = ? and "scope" = ?;

-- noteChange
select "changed_at" from "project_changes" where "tenant" = ? and "project_id" = ?;
insert into "project_contents" ("tenant", "project_id", "sha256") values (?, ?, ?) on conflict do nothing;
insert into "project_changes" ("tenant", "project_id", "changed_at") values (?, ?, ?) on conflict ("tenant", "project_id") do update set "changed_at" = ?;

-- beginRemoval
select "exec_id" from "sandbox_execs" where "tenant" = ? and "project_id" = ? and "status" in (?, ?, ?) limit ?;
select "seq", "created_at", "ended_at" from "sandbox_execs" where "tenant" = ? and "project_id" = ? order by "seq" desc limit ?;
insert into "project_removals" ("removal_id", "tenant", "project_id", "scope", "reason", "removed_by", "begun_at", "ended_at", "through_seq") values (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- unfinishedRemovals
select * from "project_removals" where "ended_at" is null order by "begun_at";

-- endRemoval
update "project_removals" set "ended_at" = ? where "removal_id" = ?;

-- entombProject
select "seq", "artifacts_path", "files_removed_at" from "sandbox_execs" where "tenant" = ? and "project_id" = ? and "seq" > ? and "seq" <= ? order by "seq" limit ?;
update "sandbox_execs" set "files_removed_at" = ?, "files_removed_reason" = ?, "files_removed_by" = ? where "seq" in (?) and "files_removed_at" is null;

-- contents
select "sha256", exists (select "others"."sha256" from "project_contents" as "others" where "others"."tenant" = "project_contents"."tenant" and "others"."sha256" = "project_contents"."sha256" and "others"."project_id" <> ?) as "shared" from "project_contents" where "tenant" = ? and "project_id" = ? order by "sha256" limit ?;

-- forgetContents
delete from "project_contents" where "tenant" = ? and "project_id" = ? and "sha256" in (?);
