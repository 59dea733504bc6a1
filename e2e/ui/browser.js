// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// What the tests of the page and its pictures share: Chromium, and the page over a fleet
// that does not exist (optional/page/internal/simulate).
import {execFile, spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import {promisify} from 'node:util';
import {chromium} from 'playwright-core';

const arguments_ = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Starts Chromium and builds the program of a fleet that does not exist. */
export async function launch() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'page-'));
  const program = path.join(folder, 'simulate');
  await promisify(execFile)('go', ['build', '-o', program, './internal/simulate'], {cwd: path.join(import.meta.dirname, '../../optional/page')});
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: arguments_});
  return {browser, program, stop: async () => { await browser.close(); await rm(folder, {recursive: true}); }};
}

/** Starts a page over a fleet and returns its address and what changes it. */
export async function serve(program, ...options) {
  const running = spawn(program, options, {stdio: ['pipe', 'pipe', 'inherit']});
  const line = await new Promise((resolve) => readline.createInterface({input: running.stdout}).once('line', resolve));
  return {
    url: line.split(' ')[0],
    change: (value) => running.stdin.write(`${JSON.stringify(value)}\n`),
    put: (Row, more) => running.stdin.write(`${JSON.stringify({Namespace: 'team-a', Set: 'shop', Row, ...more})}\n`),
    stop: () => new Promise((resolve) => { running.once('exit', resolve); running.stdin.end(); }),
  };
}

/** Logs in, which leads to the first page. */
export async function login(page, url, token = 'viewer') {
  await page.goto(`${url}/login`);
  await page.fill('#token', token);
  await page.click('button.primary');
  await page.waitForURL(`${url}/`);
}

/** Waits until a page is live, and its map, if it has one, is drawn. */
export async function settled(page) {
  await page.waitForSelector('.livemark.on');
  if (await page.locator('.map').count() === 0) return;
  await page.locator('.map').scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector('.map canvas')?.getAttribute('aria-label')?.includes(' on '));
  await page.evaluate(() => scrollTo(0, 0));
}
