import { parentPort } from 'node:worker_threads';
import { assessCode, assessWords } from '../assess-code.js';
import { loadParses } from '../syntax/parse.js';
import type { Question, Reply } from './message.js';
import { warmUp } from './warm-up.js';

/** Runs in a thread of its own: parsing knows no waiting, and hostile code can make it long. */
const port = parentPort;
if (port === null) throw new Error('This file is run as a thread.');
const answer = (reply: Reply) => {
  port.postMessage(reply);
};
const { parse, release } = await loadParses();
await warmUp(parse);
port.on('message', (question: Question) => {
  const assessment =
    question.kind === 'code'
      ? assessCode(parse, question.language, question.code, question)
      : assessWords(parse, question.words, question.stdin);
  answer({ kind: 'assessed', assessment });
  release();
});
answer({ kind: 'ready' });
