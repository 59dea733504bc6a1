// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Argo CD's own page in a real Chromium, over an unmodified argocd-server of a fleet of real
// parts (e2e/liveview/page): `make ui-argocd`. SCREENSHOTS names a folder for pictures.
import assert from 'node:assert/strict';
import {execFile, spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import {after, before, test} from 'node:test';
import {promisify} from 'node:util';
import {chromium} from 'playwright-core';

const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const patience = 120_000;
let folder, running, lines, fleet, contexts = [];

const line = async () => (await lines.next()).value;
async function command(text) {
  running.stdin.write(`${text}\n`);
  assert.equal(await line(), 'done');
}

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'argocd-'));
  const program = path.join(folder, 'page');
  await promisify(execFile)('go', ['build', '-o', program, './liveview/page'], {cwd: path.join(import.meta.dirname, '..')});
  running = spawn(program, {stdio: ['pipe', 'pipe', 'inherit'], cwd: path.join(import.meta.dirname, '..')});
  lines = readline.createInterface({input: running.stdout})[Symbol.asyncIterator]();
  fleet = JSON.parse(await line());
}, {timeout: 600_000});

after(async () => {
  await Promise.all(contexts.map((c) => c.close()));
  if (running) {
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.stdin.end();
    await ended;
  }
  await rm(folder, {recursive: true});
});

async function open(name, token = fleet.admin) {
  const profile = await mkdtemp(path.join(folder, 'profile-'));
  const context = await chromium.launchPersistentContext(profile, {executablePath: process.env.CHROMIUM || '/usr/bin/chromium', viewport: {width: 1280, height: 720}, args});
  contexts.push(context);
  await context.addCookies([{name: 'argocd.token', value: token, url: fleet.url}]);
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  await page.goto(`${fleet.url}/applications/argocd/${name}`);
  return page;
}

const node = (page, name) => page.locator(`.application-resource-tree__node-title:has-text("${name}")`);
const picture = async (page, name) => process.env.SCREENSHOTS && page.screenshot({path: path.join(process.env.SCREENSHOTS, `${name}.png`)});

test('the tree of a pulled Application', {timeout: 2 * patience}, async () => {
  const page = await open('cluster1-guestbook');
  await node(page, 'guestbook-config').waitFor();
  assert.equal(await node(page, 'guestbook-ui').count(), 2);
  // Without the operation in the status, the page calls the last sync "Unknown".
  const last = page.locator('.application-status-panel__item:has-text("LAST SYNC")');
  await last.locator('text=/Sync OK/').first().waitFor().catch(async () => assert.fail(await last.innerText()));
  await page.waitForSelector('.filter:has-text("SYNC STATUS") >> text=/Synced\\s*3/').catch(() => {}); // the picture waits for it
  await picture(page, 'argocd-tree');
  await page.context().close();
});

test('a resource that differs, and its diff', {timeout: 3 * patience}, async () => {
  await command('drift cluster1');
  const page = await open('drifting');
  await node(page, 'guestbook-notes').click();
  await page.waitForSelector('text=LIVE MANIFEST');
  await page.locator('.tabs__nav a:has-text("DIFF")').last().click();
  await page.waitForSelector('text=changed by hand');
  await page.waitForSelector('text=This Application travels.');
  await picture(page, 'argocd-diff');
  await page.context().close();
});

test('a cluster that goes away, and comes back', {timeout: 5 * patience}, async () => {
  const page = await open('cluster1-guestbook');
  await node(page, 'guestbook-config').waitFor();
  await command('away cluster1');
  await page.locator('text=/away since/i').first().waitFor();
  await picture(page, 'argocd-away');
  await page.reload();
  await node(page, 'guestbook-config').waitFor();
  assert.ok(await page.locator('text=/away since/i').count() > 0);
  await command('back cluster1');
  await page.locator('text=/away since/i').first().waitFor({state: 'detached'});
  assert.ok(await node(page, 'guestbook-config').count() > 0);
  await page.context().close();
});

test('a tenant without rights', {timeout: patience}, async () => {
  const page = await open('cluster1-guestbook', fleet.tenant);
  await page.waitForSelector('text=/permission denied/');
  assert.equal(await node(page, 'guestbook').count(), 0);
});
