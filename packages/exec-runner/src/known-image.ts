import type { ContainerEngine, EngineImage } from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';

/** How long what the engine said of an image holds. An exec names the image by its content, so it runs what it was planned with. */
const holdsMs = 2000;
/** While execs come, it is asked again before that, beside them, so that none of them waits for it. */
const askedAgainMs = 1000;
const usedMs = 60_000;

/** An image that execs run in, without asking the engine for every one of them. */
export class KnownImage {
  readonly reference: string;
  readonly #engine: Pick<ContainerEngine, 'findImage'>;
  readonly #made: string;
  #found: { readonly image: EngineImage; readonly at: number } | undefined;
  #asking: NodeJS.Timeout | undefined;
  #lastUsed = 0;

  /** `made` is the command that makes it. */
  constructor(engine: Pick<ContainerEngine, 'findImage'>, reference: string, made = 'npm run image') {
    this.#engine = engine;
    this.reference = reference;
    this.#made = made;
  }

  /** Throws `image_missing` when the engine does not have it. */
  async find(): Promise<EngineImage> {
    this.#lastUsed = performance.now();
    if (this.#found && this.#lastUsed - this.#found.at < holdsMs) return this.#found.image;
    const image = await this.#ask();
    this.#askAgain();
    return image;
  }

  /** For an engine that is in trouble: whoever comes next is to hear of it. */
  forget(): void {
    clearTimeout(this.#asking);
    this.#asking = undefined;
    this.#found = undefined;
  }

  #askAgain(): void {
    this.#asking ??= setTimeout(() => {
      this.#asking = undefined;
      if (performance.now() - this.#lastUsed > usedMs) return;
      this.#ask().then(
        () => this.#askAgain(),
        () => this.forget(),
      );
    }, askedAgainMs).unref();
  }

  async #ask(): Promise<EngineImage> {
    const at = performance.now();
    const image = await this.#engine.findImage(this.reference);
    if (!image) {
      throw new SecboxError(
        'image_missing',
        `The engine does not have the image ${this.reference}; run "${this.#made}".`,
      );
    }
    this.#found = { image, at };
    return image;
  }
}
