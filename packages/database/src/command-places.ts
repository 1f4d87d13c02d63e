import { sql, type RawBuilder } from 'kysely';

/**
 * Where the index of commands has those of a tenant: the rowid of a command is the `seq` of its exec, which has 52 bits
 * until the year 2112, behind the number of the tenant's place. So a search within a tenant is one within a range of the
 * index. There are 2,048 places; where tenants share one, their rows still tell them apart.
 */
const placeSize = 2 ** 52;
const places = 2048;

/** The first rowid of a tenant's place; of one without a place, before all others. */
export function placeOf(tenant: string): RawBuilder<number> {
  return sql<number>`(select coalesce(max(place), -1) from command_places where tenant = ${tenant}) * ${sql.lit(placeSize)}`;
}

/** The driver sends every number as one with a fraction, of which the index would take no notice. */
const integer = (value: number | undefined, otherwise: number) =>
  value === undefined ? sql.lit(otherwise) : sql`cast(${value} as integer)`;

/** The commands of a tenant, of execs from one `seq` on and before another. */
export function withinPlace(
  tenant: string,
  { least, below }: { readonly least: number | undefined; readonly below: number | undefined },
): RawBuilder<boolean>[] {
  const place = placeOf(tenant);
  return [
    sql<boolean>`sandbox_exec_commands.rowid >= ${place} + ${integer(least, 0)}`,
    sql<boolean>`sandbox_exec_commands.rowid < ${place} + ${integer(below, placeSize)}`,
  ];
}

/** The `seq` of a command. */
export const seqInPlace = sql<number>`(sandbox_exec_commands.rowid & ${sql.lit(placeSize - 1)})`;

/** Gives the tenants of these execs a place each, where they have none. */
export function givePlaces(seqs: readonly number[]): RawBuilder<unknown> {
  return sql`
      insert into command_places (tenant, place)
      select tenant, ((select count(*) from command_places) + row_number() over (order by tenant) - 1) % ${sql.lit(places)}
      from (select distinct tenant from sandbox_execs where seq in (${sql.join(seqs)}))
      where tenant not in (select tenant from command_places)`;
}

/** The rowid of an exec's command, of a query that has joined its place. */
export const rowidInPlace = sql<number>`place * ${sql.lit(placeSize)} + seq`;
