import { formWith, skillZip } from '../v1/v1-calls.js';

type Example = [method: string, path: string, init?: RequestInit, query?: string];

const ofUser = '/v1/skills/{userId}/{agentId}';
const ofSkill = `${ofUser}/{skillId}`;
const text = (body: string): RequestInit => ({ body, headers: { 'content-type': 'text/plain' } });

const args = (body: unknown): RequestInit => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

/** Every call about files in one place, and some that are refused. */
const ofArea = (prefix: string, list: string): Example[] => [
  ['get', `${prefix}/${list}`],
  ['get', `${prefix}/${list}`, {}, '?limit=1'],
  ['get', `${prefix}/${list}`, {}, '?limit=x'],
  ['put', `${prefix}/file`, { body: 'abc' }, '?path=new/b&executable=false'],
  ['put', `${prefix}/file`, { body: 'abc', headers: { 'if-none-match': '*' } }, '?path=new/b'],
  ['put', `${prefix}/edit`, text('one'), '?path=new/e'],
  ['put', `${prefix}/edit`, text('one'), '?path=../e'],
  ['put', `${prefix}/edit`, text('one'), '?path=new'],
  ['get', `${prefix}/content`, {}, '?path=new/e'],
  ['get', `${prefix}/content`, {}, '?path=new/e&start=1'],
  ['get', `${prefix}/content`, {}, '?path=none'],
  ['get', `${prefix}/stat`, {}, '?path=new/e'],
  ['get', `${prefix}/search`, {}, '?text=one'],
  ['get', `${prefix}/file`, {}, '?path=new/e'],
  ['get', `${prefix}/file`, { headers: { range: 'bytes=9-' } }, '?path=new/e'],
  ['post', `${prefix}/move`, {}, '?from=new/e&to=f'],
  ['post', `${prefix}/move`, {}, '?from=f&to=new/b'],
  ['delete', `${prefix}/file`, {}, '?path=f'],
  ['delete', `${prefix}/file`, {}, '?path=f'],
];

const skill = () => formWith(skillZip('s', { 'SKILL.md': '# s\n', 'a.py': 'a\n' }));

export const fileExamples: {
  readonly before: readonly { readonly path: string; readonly init: RequestInit }[];
  readonly calls: readonly Example[];
} = {
  before: [{ path: '/v1/skills/u/a/upload?scope=baseline', init: { method: 'POST', body: skill() } }],
  calls: [
    ['post', `${ofUser}/upload`, { body: skill() }],
    ['post', `${ofUser}/upload`, text('no form')],
    ['get', `${ofUser}/list`],
    ['get', `${ofUser}/registry`],
    ...ofArea(ofSkill, 'files'),
    ['post', `${ofSkill}/execute`, args(['a.py']), '?command=cat'],
    ['post', `${ofSkill}/execute`, args(['-c', 'echo 1 > one; rm a.py']), '?command=bash'],
    ['post', `${ofSkill}/execute`, args([]), '?command=ls&wait=false'],
    ['post', `${ofSkill}/execute`, args([]), '?command=node'],
    ['post', `${ofSkill}/execute`, args({}), '?command=ls'],
    ['post', `${ofSkill}/execute`, text('no list'), '?command=ls'],
    ['get', `${ofSkill}/status`],
    ['get', `${ofSkill}/diff`],
    ['get', `${ofSkill}/diff`, {}, '?from=x'],
    ['post', `${ofSkill}/sync`],
    ['post', `${ofSkill}/baseline`],
    ['get', `${ofSkill}/versions`],
    ['post', `${ofSkill}/versions/{version}/restore`],
    ['put', `${ofSkill}/edit`, text('mine'), '?path=a.py'],
    ['delete', ofSkill],
    ['get', `${ofUser}/trash`],
    ['post', `${ofUser}/trash/{trashId}/restore`],
    ['delete', `${ofSkill}/baseline`],
    ['delete', `${ofSkill}/baseline`],
    ...ofArea('/v1/sandbox/{userId}/{agentId}', 'files'),
    ['post', '/v1/sandbox/{userId}/{agentId}/execute', args(['-A']), '?command=ls'],
    ['post', '/v1/sandbox/{userId}/{agentId}/execute', args(['/etc']), '?command=ls'],
    ...ofArea('/projects/{project_id}/files/{area}', 'list'),
  ],
};
