// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// The pictures of docs/page.md, made again:
//
//	node pictures.js demo ADDRESS TOKEN    of `make demo`, once its commit that cannot sync has failed
//	node pictures.js large                 of a fleet of 10,000 ApplicationSets on 20 clusters that does not exist
import path from 'node:path';
import {launch, login, serve, settled} from './browser.js';

const folder = path.join(import.meta.dirname, '../../docs/images');
const [kind, address, token] = process.argv.slice(2);
const looks = [];
for (const width of [1280, 400]) for (const colorScheme of ['light', 'dark']) looks.push({width, colorScheme});

const {browser, program, stop} = await launch();
const fleet = kind === 'large' ? await serve(program, '-sets', '10000', '-clusters', '20') : {url: address, token, stop: () => {}};
try {
  if (kind === 'demo') await failed();
  for (const {width, colorScheme} of looks) {
    const context = await browser.newContext({viewport: {width, height: 900}, colorScheme, deviceScaleFactor: 1});
    const page = await context.newPage();
    await login(page, fleet.url, fleet.token ?? 'viewer');
    await settled(page);
    await page.screenshot({path: path.join(folder, `page-${kind}-${width}-${colorScheme}.png`), fullPage: kind === 'demo' || width > 400});
    if (kind === 'demo' && width === 1280) {
      await page.click('.error');
      await page.click('td.main a');
      await settled(page);
      await page.screenshot({path: path.join(folder, `page-app-${colorScheme}.png`), fullPage: true});
    }
    await context.close();
  }
} finally {
  await fleet.stop();
  await stop();
}

/** Waits until the demo's page groups what both clusters say. */
async function failed() {
  for (;;) {
    const answer = await fetch(`${address}/api/v1/errors`, {headers: {Authorization: `Bearer ${token}`}});
    const {items} = await answer.json();
    if (items?.some((e) => e.count === 2 && e.clusters === 2 && e.text.includes('immutable'))) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
