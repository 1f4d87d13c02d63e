import { describe } from '@jest/globals';
import { describeExecs } from './skill-layers.contract.js';
import { canMount, programMounts } from './testing/program-mounts.js';

describeExecs('copy');
(canMount ? describe : describe.skip)('as root on Linux', () => describeExecs('overlay', programMounts));
