import { expect, test } from '@jest/globals';
import { webhookOf } from './approval-settings.js';

test('a tenant is told at its own address, at that of all, or nowhere', () => {
  const settings = {
    webhook_url: 'https://all/',
    tenants: { own: { webhook_url: 'https://own/' }, none: { webhook_url: null }, rules: { skills: ['a'] } },
  };
  expect(webhookOf(settings, 'own')).toBe('https://own/');
  expect(webhookOf(settings, 'none')).toBeUndefined();
  expect(webhookOf(settings, 'rules')).toBe('https://all/');
  expect(webhookOf(settings, 'constructor')).toBe('https://all/');
  expect(webhookOf({ tenants: { own: { webhook_url: 'https://own/' } } }, 'other')).toBeUndefined();
});
