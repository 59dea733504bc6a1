// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// The heat map: ApplicationSets across, clusters down. A state has a height as well as a
// colour, so that a cell of two pixels can be told without colours.
const healths = ['Degraded', 'Missing', 'Unknown', 'Progressing', 'Suspended', 'Healthy'];
const syncs = ['OutOfSync', 'Unknown', 'Synced'];
const none = 0xff;
const binBeyond = 200_000;
const gutter = 92;
const rank = new Uint8Array(256).map((_, cell) => (cell === none ? 9 : cell & 7));

/** Reads what /api/v1/matrix sends. */
export function parse(buffer) {
  const view = new DataView(buffer);
  const length = view.getUint32(8);
  const {sets, clusters} = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, length)));
  return {sets, clusters, cells: new Uint8Array(buffer, 12 + length)};
}

/** The order of columns and rows: by name, or those with the most that is wrong first. */
export function sorted({sets, clusters, cells}, worst) {
  const columns = sets.map((_, i) => i), rows = clusters.map((_, i) => i);
  if (!worst) return {columns, rows};
  const bad = new Uint8Array(256).map((_, cell) => [8, 6, 5, 2, 1, 0][cell & 7] ?? 0);
  bad[none] = 0;
  const ofColumn = new Uint32Array(sets.length), ofRow = new Uint32Array(clusters.length);
  for (let r = 0, at = 0; r < clusters.length; r++) {
    for (let c = 0; c < sets.length; c++, at++) {
      ofColumn[c] += bad[cells[at]];
      ofRow[r] += bad[cells[at]];
    }
  }
  return {columns: columns.sort((a, b) => ofColumn[b] - ofColumn[a]), rows: rows.sort((a, b) => ofRow[b] - ofRow[a])};
}

/** How many columns and rows share a cell, and how large it is, for a width of pixels. */
export function layout(columns, rows, width) {
  const across = Math.max(1, Math.ceil((columns * 2) / width), columns * rows > binBeyond ? Math.ceil((columns * 3) / width) : 1);
  const down = Math.max(1, Math.ceil(rows / 160));
  const w = Math.min(20, Math.max(2, Math.floor(width / Math.ceil(columns / across))));
  const h = Math.min(18, Math.max(3, Math.floor(400 / Math.ceil(rows / down))));
  return {across, down, w, h, columns: Math.ceil(columns / across), rows: Math.ceil(rows / down)};
}

const el = (tag, properties = {}, ...children) => {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children);
  return e;
};

class Heatmap {
  worst = true;
  cursor = null;

  constructor(section, say) {
    this.section = section;
    this.say = say;
    this.canvas = el('canvas', {tabIndex: 0});
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'The map has not been read yet.');
    this.plate = el('div', {className: 'plate'}, this.canvas);
    this.tip = el('div', {className: 'tip', hidden: true});
    this.note = el('span', {className: 'muted'});
    const select = el('select', {id: 'map-sort'}, new Option('worst first', 'worst'), new Option('by name', 'name'));
    select.addEventListener('change', () => { this.worst = select.value === 'worst'; this.draw(); });
    this.key = el('p', {className: 'key'});
    section.append(el('div', {className: 'tools'}, el('label', {htmlFor: 'map-sort', textContent: 'Order'}), select, this.note), this.plate, this.key);
    document.body.append(this.tip);
    this.canvas.addEventListener('mousemove', (e) => this.hover(e));
    this.canvas.addEventListener('mouseleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('click', (e) => this.follow(this.at(e)));
    this.canvas.addEventListener('keydown', (e) => this.press(e));
    this.canvas.addEventListener('blur', () => { this.cursor = null; this.tip.hidden = true; this.draw(); });
    new ResizeObserver(() => this.data && this.draw()).observe(this.plate);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.data && this.draw());
    new IntersectionObserver(([e]) => { this.seen = e.isIntersecting; if (this.seen && this.stale !== false) this.refresh(); }).observe(section);
  }

  /** Asks for the cells again, when somebody sees them. */
  async refresh() {
    this.stale = true;
    if (!this.seen || this.busy) return;
    this.busy = true;
    this.stale = false;
    try {
      const answer = await fetch(this.section.dataset.map);
      if (answer.ok) { this.data = parse(await answer.arrayBuffer()); this.draw(); }
    } finally {
      this.busy = false;
    }
  }

  draw() {
    const {sets, clusters, cells} = this.data;
    const dark = getComputedStyle(this.section);
    const color = Object.fromEntries(healths.map((h) => [h, dark.getPropertyValue(`--f-${h.toLowerCase()}`)]));
    const ink = dark.getPropertyValue('--ink'), muted = dark.getPropertyValue('--muted'), empty = dark.getPropertyValue('--sunken');
    this.order = sorted(this.data, this.worst);
    const width = Math.max(40, this.plate.clientWidth - gutter);
    const l = this.layout = layout(sets.length, clusters.length, width);
    const ratio = devicePixelRatio || 1;
    const [W, H] = [gutter + l.columns * l.w, l.rows * l.h];
    Object.assign(this.canvas, {width: W * ratio, height: Math.max(1, H * ratio)});
    Object.assign(this.canvas.style, {width: `${W}px`, height: `${H}px`});
    const pen = this.canvas.getContext('2d');
    pen.scale(ratio, ratio);
    pen.font = `${Math.min(12, l.h - 2)}px system-ui, sans-serif`;
    pen.textBaseline = 'middle';
    for (let r = 0; r < l.rows; r++) {
      if (l.down === 1 && l.h >= 11) {
        pen.fillStyle = muted;
        pen.fillText(clusters[this.order.rows[r]].slice(0, 15), 0, r * l.h + l.h / 2);
      }
      for (let c = 0; c < l.columns; c++) {
        const cell = this.cell(c, r, cells, sets.length);
        paint(pen, cell, gutter + c * l.w, r * l.h, l, color, empty);
      }
    }
    if (this.cursor) {
      pen.strokeStyle = ink;
      pen.lineWidth = 2;
      pen.strokeRect(gutter + this.cursor.c * l.w - 1, this.cursor.r * l.h - 1, l.w + 2, l.h + 2);
    }
    this.describe(cells, color);
  }

  /** The worst of the Applications that share a place. */
  cell(c, r, cells, width) {
    const l = this.layout;
    let worst = none;
    for (let y = r * l.down; y < Math.min((r + 1) * l.down, this.order.rows.length); y++) {
      for (let x = c * l.across; x < Math.min((c + 1) * l.across, this.order.columns.length); x++) {
        const cell = cells[this.order.rows[y] * width + this.order.columns[x]];
        if (rank[cell] < rank[worst]) worst = cell;
      }
    }
    return worst;
  }

  describe(cells, color) {
    const {sets, clusters} = this.data, l = this.layout;
    const counts = new Array(healths.length).fill(0);
    for (const cell of cells) if (cell !== none) counts[cell & 7]++;
    const words = healths.map((h, i) => counts[i] && `${counts[i].toLocaleString('en')} ${h}`).filter(Boolean).join(', ');
    this.canvas.setAttribute('aria-label', `${sets.length} ApplicationSets on ${clusters.length} clusters: ${words}. The table of clusters says the same. Arrow keys move, Enter opens.`);
    this.note.textContent = l.across * l.down > 1 ? `Each cell is the worst of ${l.across} × ${l.down}.` : '';
    const ratio = devicePixelRatio || 1;
    this.key.replaceChildren(...healths.map((h, i) => {
      const swatch = el('canvas', {width: 14 * ratio, height: 14 * ratio});
      swatch.setAttribute('aria-hidden', 'true');
      const pen = swatch.getContext('2d');
      pen.scale(ratio, ratio);
      paint(pen, i, 0, 0, {w: 14, h: 14}, color, 'transparent');
      return el('span', {}, swatch, h);
    }));
  }

  at(e) {
    const box = this.canvas.getBoundingClientRect(), l = this.layout;
    const c = Math.floor((e.clientX - box.left - gutter) / l.w), r = Math.floor((e.clientY - box.top) / l.h);
    return c >= 0 && c < l.columns && r >= 0 && r < l.rows ? {c, r} : null;
  }

  hover(e) {
    const place = this.data && this.at(e);
    this.tip.hidden = !place;
    if (place) this.point(place, e.clientX, e.clientY);
  }

  point(place, x, y) {
    this.tip.textContent = this.words(place);
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 8))}px`;
    this.tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18}px`;
  }

  words({c, r}) {
    const {sets, clusters, cells} = this.data, l = this.layout;
    const cell = this.cell(c, r, cells, sets.length);
    const set = sets[this.order.columns[c * l.across]], cluster = clusters[this.order.rows[r * l.down]];
    const more = l.across * l.down > 1 ? ` and ${l.across * l.down - 1} more, the worst` : '';
    if (cell === none) return `${set} on ${cluster}${more}: no Application`;
    const running = cell & 32 ? ', syncing' : '', stale = cell & 64 ? ', not heard of' : '';
    return `${set} on ${cluster}${more}: ${healths[cell & 7]}, ${syncs[(cell >> 3) & 3]}${running}${stale}`;
  }

  press(e) {
    const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
    if (!this.data || (!step && e.key !== 'Enter')) return;
    e.preventDefault();
    if (e.key === 'Enter') { this.follow(this.cursor); return; }
    const l = this.layout, {c, r} = this.cursor ?? {c: -step[0], r: -step[1]};
    this.cursor = {c: Math.min(l.columns - 1, Math.max(0, c + step[0])), r: Math.min(l.rows - 1, Math.max(0, r + step[1]))};
    this.draw();
    const box = this.canvas.getBoundingClientRect();
    this.point(this.cursor, box.left + gutter + this.cursor.c * l.w, box.top + this.cursor.r * l.h);
    this.say(this.tip.textContent);
  }

  follow(place) {
    if (!place) return;
    const {sets, clusters} = this.data, l = this.layout;
    const [namespace, name] = sets[this.order.columns[place.c * l.across]].split('/');
    const cluster = clusters[this.order.rows[place.r * l.down]];
    location.assign(`/sets/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}?q=${encodeURIComponent(cluster)}`);
  }
}

/** Draws a cell: the worse, the more of its height. */
function paint(pen, cell, x, y, {w, h}, color, empty) {
  const gap = w >= 6 ? 1 : 0, W = w - gap, H = h - 1;
  pen.fillStyle = empty;
  pen.fillRect(x, y, W, H);
  if (cell === none) return;
  pen.fillStyle = color[healths[cell & 7]];
  const part = (from, to) => pen.fillRect(x, y + H * from, W, H * (to - from));
  switch (cell & 7) {
    case 0: part(0, 1); break;
    case 1: part(0, 0.3); part(0.7, 1); break;
    case 2: part(0.45, 1); break;
    case 3: part(0, 0.55); break;
    case 4: part(0.35, 0.65); break;
    default: part(0.75, 1);
  }
}

/** Draws the map into a section and returns what brings it up to date. */
export function drawMap(section, say) { return new Heatmap(section, say); }
