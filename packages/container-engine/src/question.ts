/** How long an engine may take to say what it is and has: whoever asks for its health must not hang with it. */
export const questionMs = 10_000;
