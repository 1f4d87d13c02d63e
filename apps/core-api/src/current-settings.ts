import { newEvent, type Doer } from '@secbox/access';
import { settingsSchema, type Settings, type SettingsVersion } from '@secbox/contracts';
import type { SettingsStore } from '@secbox/database';
import { parseSettings, type EngineCapacity, type PolicySettings } from '@secbox/policy';
import { validatorOf } from './validate.js';

export interface CurrentSettingsOptions {
  readonly store: Pick<SettingsStore, 'current' | 'put' | 'history'>;
  readonly capacity: EngineCapacity;
  /** Throws when the server could not start with these. */
  readonly check: (settings: Settings) => Promise<void>;
  /** Told of each new version, once it is stored. */
  readonly onChange: (settings: Settings) => void;
}

/** The Settings that hold now, kept at hand because every exec asks for them. */
export class CurrentSettings {
  readonly #options: CurrentSettingsOptions;
  readonly #validate = validatorOf<Settings>(settingsSchema);
  #current: SettingsVersion;

  private constructor(options: CurrentSettingsOptions, current: SettingsVersion) {
    this.#options = options;
    this.#current = current;
  }

  static async load(options: CurrentSettingsOptions): Promise<CurrentSettings> {
    return new CurrentSettings(options, await options.store.current());
  }

  get(): SettingsVersion {
    return this.#current;
  }

  /** The part that policies are merged with. */
  policy(): PolicySettings {
    const { version, settings } = this.#current;
    const policy = parseSettings(settings.policy ?? {}, undefined, '/policy');
    return { version, ...policy, runtime: settings.sandbox?.runtime };
  }

  /** Checks and stores a new version in place of the one it says it replaces. */
  async put(body: unknown, replaces: number, by: Doer): Promise<SettingsVersion> {
    const settings = this.#validate(body);
    parseSettings(settings.policy ?? {}, this.#options.capacity, '/policy');
    await this.#options.check(settings);
    const now = new Date();
    const about = { tenant: null, subject: String(replaces + 1), details: { version: replaces + 1 } };
    const event = newEvent('settings_changed', by, about, now);
    const stored = await this.#options.store.put(settings, replaces, now, event);
    // A slower put of an older version must not take the place of a newer one.
    if (stored.version > this.#current.version) {
      this.#current = stored;
      this.#options.onChange(stored.settings);
    }
    return stored;
  }

  history(limit: number, before?: number): Promise<SettingsVersion[]> {
    return this.#options.store.history(limit, before);
  }
}
