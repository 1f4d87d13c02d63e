/** What one bounded piece of a sweep did. */
export interface Step {
  readonly execs: number;
  readonly projects: number;
  readonly inputs: number;
  readonly contents: number;
  readonly files: number;
  readonly bytes: number;
  /** The projects that were passed over. */
  readonly inUse: readonly string[];
}

export const nothing: Step = {
  execs: 0,
  projects: 0,
  inputs: 0,
  contents: 0,
  files: 0,
  bytes: 0,
  inUse: [],
};

export function add(sum: Step, step: Step): Step {
  return {
    execs: sum.execs + step.execs,
    projects: sum.projects + step.projects,
    inputs: sum.inputs + step.inputs,
    contents: sum.contents + step.contents,
    files: sum.files + step.files,
    bytes: sum.bytes + step.bytes,
    inUse: [...sum.inUse, ...step.inUse],
  };
}
