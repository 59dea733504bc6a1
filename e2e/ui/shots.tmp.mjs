import {chromium} from 'playwright-core';
const base = 'http://127.0.0.1:18446', out = process.argv[2];
const pages = (process.argv[3] || '/,/apps,/sets/team-identity/identity-api').split(',');
const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: ['--no-sandbox','--disable-gpu','--disable-quic','--no-first-run','--disable-background-networking','--disable-component-update','--disable-sync']});
for (const scheme of (process.argv[4] || 'light,dark').split(',')) for (const width of [1280, 400]) {
  const context = await browser.newContext({viewport: {width, height: width === 1280 ? 900 : 860}, colorScheme: scheme, extraHTTPHeaders: {}, deviceScaleFactor: 1});
  const page = await context.newPage();
  page.on('console', (m) => ['error','warning'].includes(m.type()) && console.log(scheme, width, m.text()));
  page.on('pageerror', (e) => console.log('PAGEERROR', e.message));
  await page.goto(base + '/login?to=/');
  await page.fill('#token', 'viewer');
  await page.click('button.primary');
  let i = 0;
  for (const p of pages) {
    await page.goto(base + p);
    await page.waitForTimeout(600);
    const full = p === '/' || process.argv[5] === 'full';
    if (full) { await page.evaluate(() => scrollTo(0, document.body.scrollHeight)); await page.waitForTimeout(500); await page.evaluate(() => scrollTo(0, 0)); await page.waitForTimeout(200); }
    await page.screenshot({path: `${out}/${i++}-${width}-${scheme}.png`, fullPage: full});
  }
  await context.close();
}
await browser.close();
