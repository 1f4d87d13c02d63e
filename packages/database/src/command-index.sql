-- catchUp
select "commands_to_index"."seq", length(cmd) + length(args) as "characters" from "commands_to_index" inner join "sandbox_execs" on "sandbox_execs"."seq" = "commands_to_index"."seq" order by "commands_to_index"."seq" limit ?;
insert into command_places (tenant, place)
      select tenant, ((select count(*) from command_places) + row_number() over (order by tenant) - 1) % 2048
      from (select distinct tenant from sandbox_execs where seq in (?))
      where tenant not in (select tenant from command_places);
insert into sandbox_exec_commands (rowid, command)
      select place * 4503599627370496 + seq, substr(cmd || coalesce((select group_concat(' ' || value, '' order by key) from json_each(args)), ''), 1, ?)
      from sandbox_execs join command_places using (tenant) where seq in (?);
delete from "commands_to_index" where "seq" in (?);
select "commands_to_index"."seq", length(cmd) + length(args) as "characters" from "commands_to_index" inner join "sandbox_execs" on "sandbox_execs"."seq" = "commands_to_index"."seq" order by "commands_to_index"."seq" limit ?;

-- close
