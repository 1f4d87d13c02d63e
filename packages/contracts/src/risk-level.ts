/** How dangerous code looks, from harmless to ruinous; docs/risk.md says what each means. */
export const riskLevelNames = ['SAFE', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type RiskLevelName = (typeof riskLevelNames)[number];

/** One thing that makes code look dangerous, and where. */
export interface RiskFinding {
  readonly rule: string;
  readonly level: RiskLevelName;
  readonly line: number;
  readonly column: number;
  /** Null where it could be of what is kept secret. */
  readonly excerpt: string | null;
  readonly why: string;
  /** For code inside code: the language it was read as. */
  readonly within?: string;
  /** Of a file that the command may load: its path. Absent: of the command, or of the script that it names. */
  readonly file?: string;
}

/** Advice, never a boundary. */
export interface RiskReport {
  readonly level: RiskLevelName;
  readonly findings: readonly RiskFinding[];
  /** How many findings there were beyond those listed. */
  readonly omitted: number;
  /** False where something kept us from looking at all of it. */
  readonly complete: boolean;
}

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;

export const riskReportSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['level', 'findings', 'omitted', 'complete'],
  properties: {
    level: { type: 'string', enum: riskLevelNames },
    findings: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['rule', 'level', 'line', 'column', 'excerpt', 'why'],
        properties: {
          rule: text,
          level: { type: 'string', enum: riskLevelNames },
          line: count,
          column: count,
          excerpt: { anyOf: [text, { type: 'null' }] },
          why: text,
          within: text,
          file: text,
        },
      },
    },
    omitted: count,
    complete: { type: 'boolean' },
  },
} as const;
