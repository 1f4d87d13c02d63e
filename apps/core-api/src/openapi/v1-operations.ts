import {
  skillBaselineQuerySchema,
  skillDiffQuerySchema,
  skillSyncQuerySchema,
  skillUploadQuerySchema,
  skillVersionsQuerySchema,
} from '@secbox/contracts';
import { fileOperations } from './file-operations.js';
import type { Operation } from './operation.js';

const ofUser = '/v1/skills/{userId}/{agentId}';
const ofSkill = `${ofUser}/{skillId}`;
const wrongId = { 400: 'An id or a parameter is not valid.' } as const;
const unavailable = { 503: 'There is no room, or the database does not answer.' } as const;
const errors = { ...wrongId, 404: 'There is no such skill.', ...unavailable } as const;
const changing = { ...errors, 403: 'It is not for this caller to change.' } as const;

type Short = Pick<Operation, 'method' | 'path' | 'id' | 'summary' | 'query' | 'form' | 'errors'> & {
  readonly answer: readonly [description: string, schema: string];
};

const calls: readonly Short[] = [
  {
    method: 'post',
    path: `${ofUser}/upload`,
    id: 'uploadSkills',
    summary: 'Upload a ZIP of skills, as the user’s own or as the baseline',
    query: skillUploadQuerySchema,
    form: true,
    answer: ['They are in their place.', 'V1Upload'],
    errors: {
      400: 'The archive cannot be taken.',
      403: 'Writing a baseline takes an author.',
      413: 'It is too large.',
      415: 'It is no multipart/form-data.',
      429: 'Too many uploads are under way already.',
      ...unavailable,
    },
  },
  {
    method: 'get',
    path: `${ofUser}/list`,
    id: 'listLayeredSkills',
    summary: 'List the skills that a user sees in an agent',
    answer: ['The skills.', 'V1SkillList'],
    errors: { ...wrongId, ...unavailable },
  },
  {
    method: 'get',
    path: `${ofUser}/registry`,
    id: 'listRegistry',
    summary: 'List what is registered of an agent: its baseline, and what the user has',
    answer: ['The rows.', 'V1Registry'],
    errors: { ...wrongId, ...unavailable },
  },
  {
    method: 'get',
    path: `${ofUser}/trash`,
    id: 'listTrash',
    summary: 'List what the user had and can have back, newest first',
    answer: ['What is there.', 'V1Trash'],
    errors: { ...wrongId, ...unavailable },
  },
  {
    method: 'post',
    path: `${ofUser}/trash/{trashId}/restore`,
    id: 'restoreTrash',
    summary: 'Put something back from the trash',
    answer: ['It is there again.', 'V1Restored'],
    errors: {
      ...wrongId,
      404: 'Nothing of that id is in the trash.',
      409: 'There is something in its place.',
      ...unavailable,
    },
  },
  {
    method: 'delete',
    path: ofSkill,
    id: 'deleteLayeredSkill',
    summary: 'Delete a skill from what the user sees; what was the user’s own goes to the trash',
    answer: ['It is gone.', 'V1Done'],
    errors: changing,
  },
  {
    method: 'get',
    path: `${ofSkill}/status`,
    id: 'getSkillStatus',
    summary: 'Get whether a skill is UNCHANGED, MODIFIED, NEW or OUT_OF_SYNC',
    answer: ['How it stands.', 'V1SkillStatus'],
    errors,
  },
  {
    method: 'post',
    path: `${ofSkill}/sync`,
    id: 'syncSkill',
    summary: 'Take the current baseline over, with the user’s changes on top of it',
    query: skillSyncQuerySchema,
    answer: ['What it is at now, and each file that both changed.', 'V1Synced'],
    errors: changing,
  },
  {
    method: 'get',
    path: `${ofSkill}/diff`,
    id: 'diffSkill',
    summary: 'Compare two of: what the user sees, what it began from, what is current, a version',
    query: skillDiffQuerySchema,
    answer: ['How the one became the other, file by file.', 'V1Diff'],
    errors,
  },
  {
    method: 'get',
    path: `${ofSkill}/versions`,
    id: 'listSkillVersions',
    summary: 'List the versions of a baseline, newest first',
    query: skillVersionsQuerySchema,
    answer: ['One page of the versions.', 'V1Versions'],
    errors,
  },
  {
    method: 'post',
    path: `${ofSkill}/versions/{version}/restore`,
    id: 'restoreSkillVersion',
    summary: 'Make an older version of a baseline current again',
    answer: ['What is current, and what was.', 'V1Baselined'],
    errors: changing,
  },
  {
    method: 'post',
    path: `${ofSkill}/baseline`,
    id: 'baselineSkill',
    summary: 'Make what the user sees the baseline',
    query: skillBaselineQuerySchema,
    answer: ['What is current, and what was.', 'V1Baselined'],
    errors: { ...changing, 409: 'The baseline has moved on; sync first, or force it.' },
  },
  {
    method: 'delete',
    path: `${ofSkill}/baseline`,
    id: 'withdrawBaseline',
    summary: 'Take a skill out of the baseline; whoever has it keeps it',
    answer: ['It is withdrawn.', 'V1Done'],
    errors: changing,
  },
];

/** Skills as files, and general sandboxes. */
export const v1Operations: readonly Operation[] = [
  ...calls.map(({ answer: [description, schema], ...call }): Operation => ({
    ...call,
    tag: 'layers',
    answers: { 200: { description, schema } },
  })),
  ...fileOperations({
    prefix: ofSkill,
    of: 'Skill',
    what: 'a skill',
    tag: 'layers',
    list: 'files',
    schemas: 'V1',
  }),
  ...fileOperations({
    prefix: '/v1/sandbox/{userId}/{agentId}',
    of: 'Sandbox',
    what: 'a general sandbox',
    tag: 'sandboxes',
    list: 'files',
    schemas: 'V1',
  }),
];

export const projectFileOperations = fileOperations({
  prefix: '/projects/{project_id}/files/{area}',
  of: 'Project',
  what: 'a project',
  tag: 'projects',
  list: 'list',
  schemas: 'File',
});
