// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// What the page does by itself: it follows changes, copies commands and draws the map.
// Without this script every page is whole, and reloading it does the same.
const pollEvery = 1_500; // ms; nothing is sent again while nothing has changed
const sayEvery = 10_000;
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Makes a into b, keeping every node that can stay, so that focus and selection do. */
function morph(a, b) {
  if (a.isEqualNode(b)) return;
  if (a.nodeName !== b.nodeName || a.childNodes.length !== b.childNodes.length) {
    a.replaceWith(b);
    return;
  }
  if (a.nodeType === Node.TEXT_NODE) {
    a.data = b.data;
    return;
  }
  for (const {name} of [...(a.attributes ?? [])]) if (!b.hasAttribute(name)) a.removeAttribute(name);
  for (const {name, value} of b.attributes ?? []) if (a.getAttribute(name) !== value) a.setAttribute(name, value);
  const next = [...b.childNodes];
  [...a.childNodes].forEach((child, i) => morph(child, next[i]));
}

/** What a row says, but for how long ago something was. */
function meaning(row) {
  const copy = row.cloneNode(true);
  $$('time', copy).forEach((t) => t.remove());
  return copy.textContent.replace(/\s+/g, ' ');
}

/** Brings the rows that are shown up to date where they stand; returns how many belong elsewhere. */
function updateRows(shown, fresh) {
  const now = new Map($$('[data-id]', fresh).map((row) => [row.dataset.id, row]));
  const list = $('[data-order]', shown);
  const order = $('[data-order]', fresh)?.dataset.order.split(' ').filter(Boolean) ?? [];
  const rows = $$('[data-id]', list);
  for (const row of rows) {
    const next = now.get(row.dataset.id);
    row.classList.remove('fresh');
    if (!next) {
      row.classList.add('gone');
      continue;
    }
    row.classList.remove('gone');
    if (meaning(row) === meaning(next)) {
      $$('time', row).forEach((t, i) => morph(t, $$('time', next)[i] ?? t.cloneNode(true)));
      continue;
    }
    const id = row.dataset.id;
    morph(row, next);
    const updated = $(`[data-id="${CSS.escape(id)}"]`, list);
    void updated.offsetWidth; // starts the animation anew
    updated.classList.add('fresh');
  }
  const pager = $('.pager', shown), next = $('.pager', fresh);
  if (pager && next) morph(pager, next);
  const ids = rows.map((row) => row.dataset.id);
  return Math.max(order.filter((id, i) => id !== ids[i]).length, ids.length - order.length);
}

class Live {
  busy = false;
  anew = false; // the next answer may move rows
  said = 0;

  constructor(version) {
    this.version = version;
    this.mark = $('#live');
    this.moved = $('[data-moved]');
    if ($('[data-map]')) this.draw();
    document.addEventListener('visibilitychange', () => document.hidden || this.poll());
    this.show('on', 'Live');
    this.next = setTimeout(() => this.poll(), pollEvery);
  }

  async draw() {
    const {drawMap} = await import('./map.js');
    this.map = drawMap($('[data-map]'), (text) => this.say(text, true));
  }

  show(state, text) {
    this.mark.className = `livemark ${state}`;
    if (text) this.mark.firstChild.data = `${text}, read at `;
  }

  /** Asks for what has changed, now and from then on, one request at a time, while somebody looks. */
  async poll(anew = false) {
    this.anew ||= anew;
    if (this.busy) return;
    clearTimeout(this.next);
    if (this.gone || (document.hidden && !this.anew)) return;
    this.busy = true;
    const all = this.anew;
    this.anew = false;
    try {
      await this.fetch(all);
    } catch {
      this.show('off', 'Not connected');
    }
    this.busy = false;
    this.next = setTimeout(() => this.poll(), this.anew ? 0 : pollEvery);
  }

  async fetch(anew) {
    const parts = $$('[data-fragment]').map((e) => e.dataset.fragment);
    const headers = {'X-Fragment': parts.join(',')};
    const ids = $$('[data-order] [data-id]').map((row) => row.dataset.id);
    if (ids.length && !anew) headers['X-Rows'] = ids.join(' ');
    if (!anew) headers['If-None-Match'] = this.version;
    const answer = await fetch(location.href, {headers, redirect: 'manual', cache: 'no-store'});
    if (answer.status === 401) { this.login(); return; }
    if (answer.status === 404) { this.end(); return; }
    if (answer.status !== 304) {
      if (!answer.ok) { this.show('off', answer.status === 503 ? 'The hub does not answer' : `The hub answers ${answer.status}`); return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      for (const part of parts) this.replace(part, $(`[data-fragment="${part}"]`, fresh), anew);
      this.version = answer.headers.get('ETag');
      this.say($('.big')?.textContent.trim());
      this.map?.refresh();
    }
    const time = $('time', this.mark), now = new Date();
    time.dateTime = now.toISOString();
    time.textContent = `${now.toISOString().slice(11, 19)} UTC`;
    this.show('on', 'Live');
  }

  login() { location.assign(`/login?to=${encodeURIComponent(location.pathname + location.search)}`); }

  replace(part, fresh, anew) {
    const shown = $(`[data-fragment="${part}"]`);
    if (!fresh) return;
    if (part === 'rows' && !anew && $('[data-order] [data-id]', shown)) {
      this.tell(updateRows(shown, fresh));
      return;
    }
    if (part === 'rows') this.tell(0);
    const copy = shown.cloneNode(false);
    copy.append(...fresh.childNodes);
    morph(shown, copy);
  }

  /** Says that rows belong elsewhere; they move when the reader says so. */
  tell(count) {
    if (!this.moved) return;
    this.moved.hidden = count === 0;
    if (count === 0) return;
    const again = Object.assign(document.createElement('button'), {type: 'button', textContent: 'Sort again'});
    again.addEventListener('click', () => this.poll(true));
    this.moved.replaceChildren(`${count.toLocaleString('en')} ${count === 1 ? 'row belongs' : 'rows belong'} elsewhere now. `, again);
  }

  end() {
    this.gone = true;
    const line = Object.assign(document.createElement('p'), {id: 'gone', className: 'notice'});
    line.textContent = `Gone since ${new Date().toISOString().slice(11, 19)} UTC. What stands here is what it was.`;
    $('main').prepend(line);
    this.show('off', 'Gone');
  }

  say(text, now = false) {
    if (!text || (!now && Date.now() - this.said < sayEvery)) return;
    this.said = Date.now();
    $('#say').textContent = text;
  }
}

function copyButtons() {
  for (const pre of $$('[data-copy]')) {
    const box = Object.assign(document.createElement('div'), {className: 'copyable'});
    const button = Object.assign(document.createElement('button'), {type: 'button', className: 'copy', textContent: 'Copy'});
    button.setAttribute('aria-label', `Copy: ${pre.textContent}`);
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = 'Copied';
      } catch {
        getSelection().selectAllChildren(pre); // the browser forbids it: one key is left to press
        button.textContent = 'Selected';
      }
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
    pre.replaceWith(box);
    box.append(pre, button);
  }
}

// The page is whole already: what follows it waits until it has been painted.
requestAnimationFrame(() => setTimeout(() => {
  copyButtons();
  if (document.body.dataset.version) new Live(document.body.dataset.version);
}));
