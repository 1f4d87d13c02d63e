/**
 * Runs a curl line of our documentation, as a person would who pastes it, on machines without curl too.
 * It knows what our lines use: one URL, `-s`, `-X`, `-H '…'`, `-d '…'` and `-F '…'`; anything else is an
 * error. `files` are those that the reader is told to have.
 */
export async function runCurl(line: string, files: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const [command, ...words] = shellWords(line);
  if (command !== 'curl') throw new Error(`Not a curl line: ${line}`);
  const headers: Record<string, string> = {};
  let url: string | undefined;
  let body: string | FormData | undefined;
  let method: string | undefined;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '-s') continue;
    if (word === '-X') method = words[(at += 1)];
    else if (word === '-d') body = words[(at += 1)];
    else if (word === '-F') {
      body = body instanceof FormData ? body : new FormData();
      addPart(body, words[(at += 1)] ?? '', files);
    } else if (word === '-H') {
      const [name = '', value = ''] = (words[(at += 1)] ?? '').split(/:\s*(.*)/s);
      headers[name] = value;
    } else if (/^https?:/.test(word) && url === undefined) url = word;
    else throw new Error(`Our lines do not use ${word}.`);
  }
  if (url === undefined) throw new Error(`No URL in ${line}`);
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return isJson ? response.json() : (await response.text()).replaceAll('\r\n', '\n');
}

function addPart(form: FormData, part: string, files: Readonly<Record<string, string>>): void {
  const [name = '', value = ''] = part.split(/=(.*)/s);
  if (!value.startsWith('@')) {
    form.append(name, value);
    return;
  }
  const file = value.slice(1);
  const content = files[file];
  if (content === undefined) throw new Error(`There is no file ${file}.`);
  form.append(name, new Blob([content]), file);
}

/** Words as a shell cuts them; of quotes only the single ones, inside which nothing is special. */
function shellWords(line: string): string[] {
  return [...line.trim().matchAll(/'([^']*)'|([^\s']+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}
