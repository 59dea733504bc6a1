// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// The resource tab in a real Chromium, in a page that offers what Argo CD's page
// offers to an extension: its React and extensionsAPI.registerResourceExtension.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import path from 'node:path';
import {after, before, beforeEach, test} from 'node:test';
import {chromium} from 'playwright-core';

const require = createRequire(import.meta.url);
const umd = (name, file) => path.join(path.dirname(require.resolve(`${name}/package.json`)), 'umd', file);
const extension = path.join(import.meta.dirname, '../../deploy/rendered/argocd/extension-manifestwork.js');

const said = (type, status, message = '', observedGeneration = 3) => ({type, status, message, observedGeneration});
const manifest = (kind, name, ...conditions) => ({resourceMeta: {group: '', kind, namespace: 'guestbook', name}, conditions: [said('Applied', 'True'), ...conditions]});
const available = said('Available', 'True');

function work(changes = {}) {
  return {
    metadata: {name: 'guestbook', namespace: 'cluster1', generation: 3, ...changes.metadata},
    status: {
      conditions: [said('Applied', 'True', '', changes.applied || 3)],
      resourceStatus: {
        manifests: changes.manifests || [
          manifest('ConfigMap', 'config', available),
          manifest('Deployment', 'ui', available, said('Healthy', 'False', '1 of 3 replicas available'), said('Progressing', 'True')),
          manifest('Job', 'migrate'),
          manifest('Deployment', 'db', available, said('Healthy', 'False', 'exceeded quota: <b>pods</b>'), said('Progressing', 'False')),
          manifest('Service', 'ui', said('Available', 'False')),
          {...manifest('Role', 'r'), conditions: [said('Applied', 'False', 'forbidden')]},
        ],
      },
    },
  };
}

let browser, page, errors;

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
after(() => browser?.close());

beforeEach(async () => {
  await page?.close();
  page = await browser.newPage({viewport: {width: 1000, height: 400}});
  errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (line) => line.type() === 'error' && errors.push(line.text()));
  await page.setContent('<body style="font-family: sans-serif; color: #363c4a"><div id="tab"></div>');
  await page.addScriptTag({path: umd('react', 'react.development.js')});
  await page.addScriptTag({path: umd('react-dom', 'react-dom.development.js')});
  await page.evaluate(() => {
    window.extensionsAPI = {registerResourceExtension: (...args) => { window.registered = args; }};
  });
  await page.addScriptTag({path: extension});
});

async function show(resource) {
  await page.evaluate((live) => {
    window.ReactDOM.render(window.React.createElement(window.registered[0], {resource: live, tree: {}, application: {}}), document.getElementById('tab'));
  }, resource);
  assert.deepEqual(errors, []);
}

const rows = () => page.$$eval('tbody tr', (all) => all.map((row) => [...row.cells].map((c) => c.textContent).join('|')));
const texts = (selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));

test('it is a tab of ManifestWorks', async () => {
  assert.deepEqual(await page.evaluate(() => window.registered.slice(1, 4)), ['work.open-cluster-management.io', 'ManifestWork', 'Resources']);
});

test('the worst come first, with the words of the agent', async () => {
  await show(work());
  assert.deepEqual(await rows(), [
    '✖ Degraded|Deployment|guestbook|db|True|exceeded quota: <b>pods</b>',
    '✖ Degraded|Role|guestbook|r|False|forbidden',
    '✖ Degraded|Service|guestbook|ui|True|missing on the cluster',
    '◌ Progressing|Deployment|guestbook|ui|True|1 of 3 replicas available',
    '◌ Progressing|Job|guestbook|migrate|True|not evaluated yet',
    '✔ Healthy|ConfigMap|guestbook|config|True|',
  ]);
  assert.deepEqual(await texts('[role=note]'), ['3 Degraded, 2 Progressing, 1 Healthy']);
  if (process.env.SCREENSHOT) {
    await page.screenshot({path: process.env.SCREENSHOT});
  }
});

test('a filter narrows the table, not the counts', async () => {
  await show(work());
  await page.fill('input', ' Deploy');
  assert.equal((await rows()).length, 2);
  await page.fill('input', 'quota');
  assert.equal((await rows()).length, 1);
  await page.fill('input', 'nothing such');
  assert.deepEqual(await rows(), []);
  assert.deepEqual(await texts('[role=note]'), ['3 Degraded, 2 Progressing, 1 Healthy']);
});

test('what is not current says so', async () => {
  await show(work({applied: 2, metadata: {annotations: {'apps.open-cluster-management.io/cluster-unreachable': '2026-11-21T10:00:00Z'}}}));
  assert.deepEqual(await texts('[role=status]'), [
    'cluster1 has not been heard of since 2026-11-21T10:00:00Z: what stands here is older.',
    'cluster1 has not applied the latest change yet.',
  ]);
});

test('a condition of the generation before is none', async () => {
  await show(work({manifests: [manifest('Deployment', 'ui', available, said('Healthy', 'False', 'old', 2), said('Progressing', 'False', '', 2))]}));
  assert.deepEqual(await rows(), ['◌ Progressing|Deployment|guestbook|ui|True|not evaluated yet']);
});

test('an object without status is shown, too', async () => {
  for (const resource of [undefined, {}, {metadata: {namespace: 'cluster1'}}, work({manifests: []})]) {
    await show(resource);
    assert.deepEqual(await texts('[role=note]'), ['The work agent has reported no resources.']);
  }
});

test('four hundred resources are shown as live objects change', async () => {
  const many = Array.from({length: 400}, (_, i) => manifest('ConfigMap', `c${i}`, available));
  await show(work({manifests: many}));
  assert.equal((await rows()).length, 400);
  many[399].conditions = [said('Applied', 'False', 'forbidden')];
  await show(work({manifests: many}));
  assert.match((await rows())[0], /Degraded\|ConfigMap\|guestbook\|c399/);
});
