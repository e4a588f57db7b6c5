// A real Chromium, driven over its own protocol (https://chromedevtools.github.io/devtools-protocol/) by pipes.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import type {Readable, Writable} from 'node:stream';
import type {Owner} from './daemon.ts';
import {isInstalled} from './installed.ts';
import {testFolder} from './test-folder.ts';

export const browserMissing = isInstalled('chromium') ? undefined : 'chromium is not installed';

const keys = {
  Tab: {key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9},
  Enter: {key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r'},
};

interface Tab {
  /** Resolves when the page is loaded. */
  open(url: string): Promise<void>;
  reload(): Promise<void>;
  back(): Promise<void>;
  /** What a person reads. */
  text(): Promise<string>;
  /** The value of an expression in the page. */
  evaluate(expression: string): Promise<unknown>;
  /** Presses the mouse on the only button so many times, with no pause; resolves when a page is loaded again. */
  press(times?: number): Promise<void>;
  /** Tab moves the focus; Enter resolves when a page is loaded. */
  key(name: keyof typeof keys): Promise<void>;
  /** What a screen reader is given. */
  accessible(): Promise<[role: string, name: string][]>;
  /** PNG. */
  picture(): Promise<Buffer>;
}

export interface Browser {
  /** A window of its own; `width` in CSS pixels. `isStranger`: of a profile that shares nothing with the others. */
  newTab(options?: {width?: number; height?: number; language?: string; isStranger?: boolean}): Promise<Tab>;
}

interface Message {
  id?: number;
  sessionId?: string;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: {message: string};
}

interface AccessibleNode {
  ignored: boolean;
  role?: {value: string};
  name?: {value: string};
}

/** Certificates are not verified. */
export const startBrowser = async (owner: Owner): Promise<Browser> => {
  const folder = await testFolder(owner);
  // As root it starts without its sandbox only. It opens nothing but the pages of tests.
  const options = ['--headless=new', '--no-sandbox', '--disable-gpu', '--ignore-certificate-errors', '--no-first-run'];
  // Otherwise a thousand tabs are a thousand processes.
  options.push('--renderer-process-limit=4');
  const child = spawn('chromium', [...options, `--user-data-dir=${folder}`, '--remote-debugging-pipe', 'about:blank'], {
    env: {...process.env, HOME: folder},
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const {send, next} = createProtocol(child.stdio[3] as Writable, child.stdio[4] as Readable);
  owner.teardown(async () => {
    const hasEnded = once(child, 'exit');
    // Its own processes end with it, and write to the folder until then.
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await send('Browser.close').catch(() => {});
    await hasEnded;
    clearTimeout(timer);
  });

  const newTab: Browser['newTab'] = async ({width = 800, height = 900, language = 'en', isStranger = false} = {}) => {
    const context = isStranger ? await send('Target.createBrowserContext') : {};
    const {targetId} = await send('Target.createTarget', {url: 'about:blank', ...context});
    const {sessionId} = (await send('Target.attachToTarget', {targetId, flatten: true})) as {sessionId: string};
    const ask = async (method: string, params = {}) => send(method, params, sessionId);
    await ask('Page.enable');
    await ask('Emulation.setFocusEmulationEnabled', {enabled: true});
    await ask('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: width < 500});
    await ask('Network.setExtraHTTPHeaders', {headers: {'Accept-Language': language}});
    const evaluate = async (expression: string): Promise<unknown> => {
      const {result} = (await ask('Runtime.evaluate', {expression, returnByValue: true})) as {result: {value: unknown}};
      return result.value;
    };
    const text = async () => String(await evaluate('document.body.innerText'));
    const loaded = async (begin: () => Promise<unknown>): Promise<void> => {
      const event = next(sessionId, 'Page.loadEventFired');
      await begin();
      await event;
      // Chromium drops its connections when any network interface of the machine changes, as tests of networks do meanwhile.
      if ((await text()).includes('ERR_NETWORK_CHANGED')) await loaded(async () => ask('Page.reload'));
    };
    return {
      open: async url => loaded(async () => ask('Page.navigate', {url})),
      reload: async () => loaded(async () => ask('Page.reload')),
      async back() {
        const {currentIndex, entries} = (await ask('Page.getNavigationHistory')) as {
          currentIndex: number;
          entries: {id: number}[];
        };
        await loaded(async () => ask('Page.navigateToHistoryEntry', {entryId: entries[currentIndex - 1]?.id}));
      },
      text,
      evaluate,
      async press(times = 1) {
        const at = (await evaluate(
          `(() => { const {x, y, width, height} = document.querySelector('button').getBoundingClientRect(); return {x: x + width / 2, y: y + height / 2}; })()`,
        )) as {x: number; y: number};
        await loaded(async () => {
          const events = Array.from({length: times}, (_, n) => n + 1).flatMap(clickCount =>
            ['mousePressed', 'mouseReleased'].map(type => ({type, ...at, button: 'left', clickCount})),
          );
          await Promise.all(events.map(async event => ask('Input.dispatchMouseEvent', event)));
        });
      },
      async key(name) {
        const send = async () => {
          for (const type of ['keyDown', 'keyUp']) await ask('Input.dispatchKeyEvent', {type, ...keys[name]});
        };
        await (name === 'Enter' ? loaded(send) : send());
      },
      async accessible() {
        const {nodes} = (await ask('Accessibility.getFullAXTree')) as {nodes: AccessibleNode[]};
        return nodes.filter(({ignored}) => !ignored).map(({role, name}) => [role?.value ?? '', name?.value ?? '']);
      },
      async picture() {
        const {data} = await ask('Page.captureScreenshot', {format: 'png'});
        return Buffer.from(String(data), 'base64');
      },
    };
  };
  return {newTab};
};

/** Messages end with a zero byte. */
const createProtocol = (input: Writable, output: Readable) => {
  const waiting = new Map<number, {resolve(result: Record<string, unknown>): void; reject(error: Error): void}>();
  const events = new Set<(message: Message) => void>();
  let last = 0;
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (chunk: string) => {
    const texts = (rest + chunk).split('\0');
    rest = texts.pop() ?? '';
    for (const text of texts) {
      const message = JSON.parse(text) as Message;
      if (message.id === undefined) for (const listener of events) listener(message);
      else if (message.error) waiting.get(message.id)?.reject(new Error(message.error.message));
      else waiting.get(message.id)?.resolve(message.result ?? {});
    }
  });
  return {
    send: async (method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> =>
      new Promise((resolve, reject) => {
        last += 1;
        waiting.set(last, {resolve, reject});
        input.write(`${JSON.stringify({id: last, method, params, sessionId})}\0`);
      }),
    next: async (sessionId: string, method: string): Promise<void> =>
      new Promise(resolve => {
        const listener = (message: Message) => {
          if (message.sessionId !== sessionId || message.method !== method) return;
          events.delete(listener);
          resolve();
        };
        events.add(listener);
      }),
  };
};
