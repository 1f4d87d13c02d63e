import { type Principal, type SecurityLog } from '@secbox/access';
import {
  parseLayeredSkillId,
  SecboxError,
  skillBaselineQuerySchema,
  skillDiffQuerySchema,
  skillSyncQuerySchema,
  skillUploadQuerySchema,
  skillVersionsQuerySchema,
  type SkillBaselineQuery,
  type SkillDiffQuery,
  type SkillSyncQuery,
  type SkillUploadQuery,
  type SkillVersionsQuery,
} from '@secbox/contracts';
import {
  type DiffSide,
  pageOfVersions,
  type TrashedItem,
  type UploadedSkill,
  type UserPlace,
} from '@secbox/skill-layers';
import type { Request } from 'express';
import { admit } from '../door.js';
import { fileRoutes } from '../files/file-routes.js';
import { receiveArchive } from '../files/receive-archive.js';
import { skillArea } from '../files/skill-area.js';
import type { UploadsAtOnce } from '../files/uploads-at-once.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { recordedArea, recordSkill } from '../layers/skill-events.js';
import type { SkillRegister } from '../layers/skill-register.js';
import type { TenantLayers } from '../layers/tenant-layers.js';
import { skillIn, success, userIn } from '../layers/v1-place.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';

export interface V1RoutesOptions {
  readonly layers: TenantLayers;
  readonly register: SkillRegister;
  readonly securityLog: SecurityLog;
  readonly assertRoom: () => void;
  readonly uploads: UploadsAtOnce;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
}

const ofUser = '/v1/skills/{userId}/{agentId}';
const ofSkill = `${ofUser}/{skillId}`;
const largestArchive = 256 * 1024 ** 2;
export const largestFile = 256 * 1024 ** 2;

/** Skills as files: uploads, lists, versions, what users made of them. */
export function v1SkillRoutes(routes: GuardedRoutes<RouteName>, options: V1RoutesOptions): void {
  const { layers, register, securityLog: log, assertRoom, uploads, maxBodyBytes, maxUploadBytes } = options;
  const readUpload = queryReader<SkillUploadQuery>(skillUploadQuerySchema);
  const readSync = queryReader<SkillSyncQuery>(skillSyncQuerySchema);
  const readBaseline = queryReader<SkillBaselineQuery>(skillBaselineQuerySchema);
  const readDiff = queryReader<SkillDiffQuery>(skillDiffQuerySchema);
  const readVersions = queryReader<SkillVersionsQuery>(skillVersionsQuerySchema);

  const upload = async (request: Request, caller: Principal, receive: Receive) => {
    const user = userIn(request, caller, log);
    const asked = readUpload(request).scope;
    const route = `POST ${ofUser}/upload`;
    const authors = { roles: ['author'], scope: 'tenant' } as const;
    const check = (scope: SkillUploadQuery['scope']) => {
      if (scope === 'baseline') admit(caller, authors, { route, address: request.ip ?? null, log });
    };
    check(asked);
    assertRoom();
    const mine = await layers.of(caller.tenant);
    return mine.withUpload(async (folder) => {
      const archive = await receive(folder);
      // Unpacked it takes more, and others came meanwhile.
      assertRoom();
      const scope = scopeOf(asked, archive.fields);
      check(scope);
      const { path, name: archiveName } = archive;
      const uploaded = await mine.upload(user, path, { archiveName, scope, by: caller.actor });
      for (const { skillId, version, previous } of uploaded) {
        const place = { ...user, skillId };
        if (scope === 'baseline') {
          const told = { version, previous, origin: 'upload' };
          await recordSkill({ log, request, caller }, 'skill_published', place, told);
          await register.baselined(caller.tenant, mine, place);
        } else {
          await recordSkill({ log, request, caller }, 'skill_uploaded', place);
          await register.refresh(caller.tenant, mine, place);
        }
      }
      return uploaded;
    });
  };

  routes.on(`POST ${ofUser}/upload`, async (request, response, caller) => {
    const most = Math.min(maxUploadBytes, largestArchive);
    const receive: Receive = (folder) =>
      receiveArchive(request, response, folder, { maxBytes: most, assertRoom });
    // However small it is, it may unpack to much.
    const uploaded = await uploads.run(caller, Infinity, () => upload(request, caller, receive));
    response.json(success(uploadMessage(uploaded), { skills: uploaded.map(toldUpload) }));
  });

  routes.on(`GET ${ofUser}/list`, async (request, response, caller) => {
    const user = userIn(request, caller, log);
    const listed = await (await layers.of(caller.tenant)).list(user);
    response.json(
      success(
        listed.map(({ skillId: id, name, description, ...rest }) => ({ name, description, id, ...rest })),
      ),
    );
  });

  routes.on(`GET ${ofUser}/registry`, async (request, response, caller) => {
    const user = userIn(request, caller, log);
    response.json(success(await register.list(caller.tenant, user)));
  });

  routes.on(`GET ${ofUser}/trash`, async (request, response, caller) => {
    const user = userIn(request, caller, log);
    const items = await (await layers.of(caller.tenant)).trash(user);
    response.json(
      success(
        items.map((item) => ({ ...toldTrash(item), reason: item.reason, removed_at: item.removed_at })),
      ),
    );
  });

  routes.on(`POST ${ofUser}/trash/{trashId}/restore`, async (request, response, caller) => {
    const user: UserPlace = userIn(request, caller, log);
    const mine = await layers.of(caller.tenant);
    const item = await mine.restoreFromTrash(user, String(request.params['trashId']));
    const told = { from: 'trash', trash_id: item.id, kind: item.kind };
    if (item.kind === 'sandbox') await recordSkill({ log, request, caller }, 'skill_restored', user, told);
    else {
      const place = { ...user, skillId: parseLayeredSkillId(item.skillId) };
      await recordSkill({ log, request, caller }, 'skill_restored', place, told);
      await register.refresh(caller.tenant, mine, place);
    }
    response.json(success(toldTrash(item)));
  });

  routes.on(`DELETE ${ofSkill}`, async (request, response, caller) => {
    const place = skillIn(request, caller, log);
    const mine = await layers.of(caller.tenant);
    await mine.deleteSkill(place);
    await recordSkill({ log, request, caller }, 'skill_deleted', place);
    await register.refresh(caller.tenant, mine, place);
    response.json(success(`Skill '${place.skillId}' deleted.`));
  });

  routes.on(`GET ${ofSkill}/status`, async (request, response, caller) => {
    const place = skillIn(request, caller, log);
    response.json(success(await (await layers.of(caller.tenant)).status(place)));
  });

  routes.on(`POST ${ofSkill}/sync`, async (request, response, caller) => {
    const place = skillIn(request, caller, log);
    const { keep = 'mine' } = readSync(request);
    const mine = await layers.of(caller.tenant);
    const synced = await mine.sync(place, { keep });
    const { version, previous, conflicts } = synced;
    const told = { version, previous, keep, conflicts: conflicts.length };
    await recordSkill({ log, request, caller }, 'skill_synced', place, told);
    await register.refresh(caller.tenant, mine, place);
    response.json(success(synced));
  });

  routes.on(`GET ${ofSkill}/diff`, async (request, response, caller) => {
    const place = skillIn(request, caller, log);
    const { from = 'pinned', to = 'mine' } = readDiff(request);
    const diff = await (await layers.of(caller.tenant)).diff(place, sideOf(from), sideOf(to));
    response.json(success(diff));
  });

  routes.on(`GET ${ofSkill}/versions`, async (request, response, caller) => {
    const place = skillIn(request, caller, log);
    const query = readVersions(request);
    const all = await (await layers.of(caller.tenant)).versions(place);
    if (all.length === 0) {
      throw new SecboxError('skill_not_found', `There is no baseline of ${place.skillId}.`);
    }
    const { versions, next_cursor } = pageOfVersions(all, query);
    response.json(
      success(
        versions.map(({ version, created_at, created_by, origin, parent, files, bytes, current }) => ({
          version,
          created_at,
          created_by,
          origin,
          parent,
          files,
          bytes,
          current,
        })),
        { next_cursor },
      ),
    );
  });

  routes.on(`POST ${ofSkill}/baseline`, async (request, response, caller) => {
    const place = skillIn(request, caller, log);
    const force = readBaseline(request).force === 'true';
    const mine = await layers.of(caller.tenant);
    const baselined = await mine.baseline(place, caller.actor, force);
    const told = { ...baselined, origin: 'baseline', forced: force };
    await recordSkill({ log, request, caller }, 'skill_published', place, told);
    await register.baselined(caller.tenant, mine, place);
    await register.refresh(caller.tenant, mine, place);
    response.json(success(baselined));
  });

  routes.on(`DELETE ${ofSkill}/baseline`, async (request, response, caller) => {
    const place = skillIn(request, caller, log);
    const mine = await layers.of(caller.tenant);
    await mine.withdrawBaseline(place, caller.actor);
    await recordSkill({ log, request, caller }, 'skill_withdrawn', place);
    await register.baselined(caller.tenant, mine, place);
    response.json(success(`Skill '${place.skillId}' withdrawn from the baseline.`));
  });

  routes.on(`POST ${ofSkill}/versions/{version}/restore`, async (request, response, caller) => {
    const place = skillIn(request, caller, log);
    const version = String(request.params['version']);
    const mine = await layers.of(caller.tenant);
    if (!versionForm.test(version)) throw noVersion(version);
    const restored = await mine.restoreVersion(place, version, caller.actor);
    const told = { ...restored, origin: 'restore' };
    await recordSkill({ log, request, caller }, 'skill_published', place, told);
    await register.baselined(caller.tenant, mine, place);
    response.json(success(restored));
  });

  fileRoutes(routes, {
    prefix: ofSkill,
    list: 'files',
    areaOf: async (request, caller) => {
      const place = skillIn(request, caller, log);
      const mine = await layers.of(caller.tenant);
      const area = skillArea(mine, place, (changed, ...paths) =>
        register.edited(caller.tenant, mine, changed, paths),
      );
      return recordedArea({ log, request, caller }, place, area);
    },
    assertRoom,
    uploads,
    maxBodyBytes,
    maxFileBytes: Math.min(maxUploadBytes, largestFile),
    answers: {
      plain: success,
      list: ({ files }) => success(files.map(({ path }) => path)),
      edited: (file) => success('Skill file updated successfully.', { file }),
    },
  });
}

type Receive = (folder: string) => ReturnType<typeof receiveArchive>;

const versionForm = /^[0-9a-f]{64}$/;

/** As a parameter or as a field beside the file; not two different ones. */
function scopeOf(
  asked: SkillUploadQuery['scope'],
  fields: Readonly<Record<string, unknown>>,
): 'baseline' | 'overlay' {
  const { scope = asked ?? 'overlay', ...others } = fields;
  const isKnown = scope === 'baseline' || scope === 'overlay';
  if (!isKnown || (asked !== undefined && scope !== asked) || Object.keys(others).length > 0) {
    throw new SecboxError(
      'invalid_request',
      'Beside the file there is only "scope", baseline or overlay, and it is said once.',
      { details: { field: 'scope' } },
    );
  }
  return scope;
}

function uploadMessage(uploaded: readonly UploadedSkill[]): string {
  const each = uploaded.map(({ skillId, path }) => `skill '${skillId}' to '${path}'`);
  return `Upload successful: ${each.join(', ')}`;
}

function toldUpload({ skillId: id, name, description, path, version }: UploadedSkill) {
  return { id, name, description, path, version };
}

function toldTrash(item: TrashedItem) {
  return { id: item.id, kind: item.kind, ...(item.kind === 'skill' ? { skill_id: item.skillId } : {}) };
}

function sideOf(text: string): DiffSide {
  return text === 'mine' || text === 'pinned' || text === 'current' ? text : { version: text };
}

function noVersion(version: string): SecboxError {
  return new SecboxError('skill_version_not_found', 'There is no such version.', { details: { version } });
}
