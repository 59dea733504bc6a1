// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// The heat map: ApplicationSets across, clusters down. A state has a height as well as a
// colour, so that a cell of two pixels can be read without colours.
const healths = ['Degraded', 'Missing', 'Unknown', 'Progressing', 'Suspended', 'Healthy'];
const syncs = ['OutOfSync', 'Unknown', 'Synced'];
const none = 0xff;
const binBeyond = 200_000;
const gutter = 92;
const rank = new Uint8Array(256).map((_, cell) => (cell === none ? 9 : cell & 7));
// The parts of a cell's height that a health fills, in the order of healths.
const shapes = [[[0, 1]], [[0, 0.3], [0.7, 1]], [[0.45, 1]], [[0, 0.55]], [[0.35, 0.65]], [[0.75, 1]]];

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
  const w = Math.min(48, Math.max(2, Math.floor(width / Math.ceil(columns / across))));
  const h = Math.min(18, Math.max(3, Math.floor(400 / Math.ceil(rows / down))));
  return {across, down, w, h, columns: Math.ceil(columns / across), rows: Math.ceil(rows / down)};
}

/** The worst of the Applications that share a place, place by place, row by row. */
export function bins({cells, sets}, {columns: order, rows}, l) {
  const all = new Uint8Array(l.columns * l.rows).fill(none);
  for (let y = 0; y < rows.length; y++) {
    const from = rows[y] * sets.length, to = Math.floor(y / l.down) * l.columns;
    for (let x = 0, c = 0, left = l.across; x < order.length; x++) {
      const cell = cells[from + order[x]];
      if (rank[cell] < rank[all[to + c]]) all[to + c] = cell;
      if (--left === 0) { c++; left = l.across; }
    }
  }
  return all;
}

const el = (tag, properties = {}, ...children) => {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children);
  return e;
};

/** A colour "#rrggbb" as a pixel. */
const pixel = (color) => (0xff000000 | Number.parseInt(color.trim().slice(1).match(/../g).reverse().join(''), 16)) >>> 0;

class Heatmap {
  worst = true;
  cursor = null;

  constructor(section, say) {
    this.section = section;
    this.say = say;
    this.canvas = el('canvas', {tabIndex: 0});
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'The map has not been read yet.');
    this.mark = el('div', {className: 'cursor', hidden: true});
    this.plate = el('div', {className: 'plate'}, this.canvas, this.mark);
    this.tip = el('div', {className: 'tip', hidden: true});
    this.note = el('span', {className: 'muted'});
    const select = el('select', {id: 'map-sort'}, new Option('worst first', 'worst'), new Option('by name', 'name'));
    select.addEventListener('change', () => { this.worst = select.value === 'worst'; this.order = null; this.draw(); });
    this.key = el('p', {className: 'key'});
    section.append(el('div', {className: 'tools'}, el('label', {htmlFor: 'map-sort', textContent: 'Order'}), select, this.note), this.plate, this.key);
    document.body.append(this.tip);
    this.canvas.addEventListener('mousemove', (e) => this.hover(e));
    this.canvas.addEventListener('mouseleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('click', (e) => this.follow(this.at(e)));
    this.canvas.addEventListener('keydown', (e) => this.press(e));
    this.canvas.addEventListener('blur', () => { this.cursor = null; this.tip.hidden = true; this.mark.hidden = true; });
    new ResizeObserver(() => this.data && this.plate.clientWidth !== this.width && this.draw()).observe(this.plate);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.data && this.draw());
    new IntersectionObserver(([e]) => { this.seen = e.isIntersecting; if (this.seen && this.stale !== false) this.refresh(); }).observe(section);
  }

  /** Requests the cells again, when the map is in view. */
  async refresh() {
    this.stale = true;
    if (!this.seen || this.busy) return;
    this.busy = true;
    this.stale = false;
    try {
      const answer = await fetch(this.section.dataset.map, {headers: {'X-Fragment': 'map'}});
      if (answer.status === 413) this.note.textContent = (await answer.json()).error;
      else if (answer.ok) { this.data = parse(await answer.arrayBuffer()); this.order = null; this.draw(); }
    } finally {
      this.busy = false;
    }
  }

  /** Draws all: what it costs goes by the pixels, whatever the number of cells. */
  draw() {
    performance.mark('map-start');
    const {sets, clusters} = this.data;
    const style = getComputedStyle(this.section);
    const color = healths.map((h) => style.getPropertyValue(`--f-${h.toLowerCase()}`));
    this.order ??= sorted(this.data, this.worst);
    this.width = this.plate.clientWidth;
    const ratio = devicePixelRatio || 1;
    const l = this.layout = layout(sets.length, clusters.length, Math.max(40, this.width - gutter));
    const [w, h, left] = [l.w, l.h, gutter].map((n) => Math.round(n * ratio)); // whole pixels of the screen
    [l.w, l.h, l.left] = [w / ratio, h / ratio, left / ratio];
    this.bins = bins(this.data, this.order, l);
    Object.assign(this.canvas, {width: left + l.columns * w, height: Math.max(1, l.rows * h)});
    Object.assign(this.canvas.style, {width: `${this.canvas.width / ratio}px`, height: `${this.canvas.height / ratio}px`});
    const pen = this.canvas.getContext('2d');
    if (l.rows * l.columns > 0) {
      const image = pen.createImageData(l.columns * w, l.rows * h);
      paint(new Uint32Array(image.data.buffer), this.bins, l, w, h, color.map(pixel), pixel(style.getPropertyValue('--sunken')));
      pen.putImageData(image, left, 0);
    }
    pen.scale(ratio, ratio);
    this.name(pen, style.getPropertyValue('--muted'));
    this.describe();
    this.explain(color, ratio);
    this.point();
    performance.measure('map', 'map-start');
  }

  /** Writes the clusters beside their rows, where there is room. */
  name(pen, color) {
    const l = this.layout;
    if (l.down > 1 || l.h < 11) return;
    pen.font = `${Math.min(12, l.h - 2)}px system-ui, sans-serif`;
    pen.textBaseline = 'middle';
    pen.fillStyle = color;
    this.order.rows.forEach((row, r) => pen.fillText(this.data.clusters[row].slice(0, 15), 0, r * l.h + l.h / 2));
  }

  describe() {
    const {sets, clusters, cells} = this.data, l = this.layout;
    const counts = new Uint32Array(256);
    for (let i = 0; i < cells.length; i++) counts[cells[i] === none ? none : cells[i] & 7]++;
    const words = healths.map((h, i) => counts[i] && `${counts[i].toLocaleString('en')} ${h}`).filter(Boolean).join(', ');
    this.canvas.setAttribute('aria-label', `${sets.length} ApplicationSets on ${clusters.length} clusters: ${words}. The table of clusters says the same. Arrow keys move, Enter opens.`);
    this.note.textContent = l.across * l.down > 1 ? `Each cell is the worst of ${l.across} × ${l.down}.` : '';
  }

  explain(color, ratio) {
    if (this.explained === color.join() + ratio) return;
    this.explained = color.join() + ratio;
    this.key.replaceChildren(...healths.map((h, i) => {
      const swatch = el('canvas', {width: 14 * ratio, height: 14 * ratio});
      swatch.setAttribute('aria-hidden', 'true');
      const pen = swatch.getContext('2d');
      pen.fillStyle = color[i];
      for (const [from, to] of shapes[i]) pen.fillRect(0, from * swatch.height, swatch.width, (to - from) * swatch.height);
      return el('span', {}, swatch, h);
    }));
  }

  at(e) {
    const box = this.canvas.getBoundingClientRect(), l = this.layout;
    const c = Math.floor((e.clientX - box.left - l.left) / l.w), r = Math.floor((e.clientY - box.top) / l.h);
    return c >= 0 && c < l.columns && r >= 0 && r < l.rows ? {c, r} : null;
  }

  hover(e) {
    const place = this.data && this.at(e);
    this.tip.hidden = !place;
    if (place) this.tell(place, e.clientX, e.clientY);
  }

  tell(place, x, y) {
    this.tip.textContent = this.words(place);
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 8))}px`;
    this.tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18}px`;
  }

  /** Puts the mark around the cell that the keyboard is at. */
  point() {
    const l = this.layout;
    if (this.cursor) this.cursor = {c: Math.min(l.columns - 1, Math.max(0, this.cursor.c)), r: Math.min(l.rows - 1, Math.max(0, this.cursor.r))};
    this.mark.hidden = !this.cursor;
    if (!this.cursor) return;
    Object.assign(this.mark.style, {width: `${l.w}px`, height: `${l.h}px`, transform: `translate(${l.left + this.cursor.c * l.w}px, ${this.cursor.r * l.h}px)`});
  }

  words({c, r}) {
    const {sets, clusters} = this.data, l = this.layout;
    const cell = this.bins[r * l.columns + c];
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
    this.cursor = {c: c + step[0], r: r + step[1]};
    this.point();
    this.mark.scrollIntoView({block: 'nearest', inline: 'nearest'});
    const box = this.canvas.getBoundingClientRect();
    this.tell(this.cursor, box.left + l.left + this.cursor.c * l.w, box.top + this.cursor.r * l.h);
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

/** Fills the pixels of all cells: the worse a health, the more of its cell's height. */
function paint(pixels, all, l, w, h, colors, empty) {
  const width = l.columns * w, W = w - (w >= 6 ? 1 : 0), H = Math.max(1, h - 1);
  // For each line of a cell, the pixel of each health there; 0: none, as where no Application is.
  const lines = Array.from({length: H}, (_, y) => {
    const at = (y + 0.5) / H, line = new Uint32Array(256).fill(empty);
    for (let cell = 0; cell < 128; cell++) if (shapes[cell & 7]?.some(([from, to]) => at >= from && at < to)) line[cell] = colors[cell & 7];
    return line;
  });
  shapes.forEach((_, health) => { // a low cell has a line for each of them, too
    if (colors[health] !== empty && !lines.some((line) => line[health] === colors[health])) {
      for (let cell = health; cell < 128; cell += 8) lines[H >> 1][cell] = colors[health];
    }
  });
  for (let r = 0; r < l.rows; r++) {
    for (let y = 0; y < H; y++) {
      let at = (r * h + y) * width;
      for (let c = r * l.columns; c < (r + 1) * l.columns; c++, at += w) pixels.fill(lines[y][all[c]], at, at + W);
    }
  }
}

/** Draws the map into a section and returns what brings it up to date. */
export function drawMap(section, say) { return new Heatmap(section, say); }
