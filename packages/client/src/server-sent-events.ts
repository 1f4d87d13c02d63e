/** One event of a stream, as far as our server uses the format. */
export interface SentEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** The events of a body, as they come. One that was cut off is not told: whoever resumes gets it whole. */
export async function* sentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = `${rest}${decoder.decode(value, { stream: true })}`.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = eventIn(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function eventIn(block: string): SentEvent | undefined {
  const fields: Record<'id' | 'event' | 'data', string> = { id: '', event: 'message', data: '' };
  for (const line of block.split('\n')) {
    const match = /^(id|event|data): ?(.*)$/.exec(line);
    if (match) fields[match[1] as 'id' | 'event' | 'data'] = match[2] ?? '';
  }
  return fields.data === '' ? undefined : fields;
}
