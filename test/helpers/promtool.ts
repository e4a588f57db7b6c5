import {execFile} from 'node:child_process';
import {isInstalled} from './installed.ts';

export const hasPromtool = isInstalled('promtool');

/** The output of `promtool check metrics`. */
export const promtool = async (text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile('promtool', ['check', 'metrics'], (error, stdout, stderr) => {
      if (error && stdout + stderr === '') reject(error);
      else resolve(stdout + stderr);
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(text);
  });
