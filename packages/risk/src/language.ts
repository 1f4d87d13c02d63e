export const assessedLanguages = ['python', 'bash', 'javascript'] as const;
export type AssessedLanguage = (typeof assessedLanguages)[number];
