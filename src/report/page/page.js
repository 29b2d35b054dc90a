// SPDX-License-Identifier: MIT
// The timelines of a page: drawn on canvas by shares of pixels, with the values under the pointer, and zoom. Whatever
// text the data holds goes to the page as text alone.
"use strict";

const ROW = 34, GAP = 6, RIGHT = 12, AXIS = 26, MEMORY_HEIGHT = 240, LABEL_ROOM = 6.2;

function ms(ps) {
  return (ps / 1e9).toFixed(2) + " ms";
}

function gib(bytes) {
  return (bytes / 2 ** 30).toFixed(2) + " GiB";
}

function variable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function element(tag, text, parent) {
  const made = document.createElement(tag);
  made.textContent = text;
  parent.append(made);
  return made;
}

// Round distances between marks of an axis, for about `n` of them.
function spacing(span, n) {
  const decade = 10 ** Math.floor(Math.log10(span / n));
  return [1, 2, 5, 10].map((m) => m * decade).find((step) => span / step <= n);
}

// What stands to the left of a plot has less room on a phone.
function leftOf(canvas) {
  return canvas.clientWidth < 560 ? 72 : 118;
}

class View {
  constructor(run, section) {
    this.run = run;
    this.window = [0, run.end];
    this.marked = null;
    this.hover = section.querySelector(".hover");
    this.timeline = section.querySelector("canvas.timeline");
    this.memory = section.querySelector("canvas.memory");
    for (const canvas of [this.timeline, this.memory])
      this.listen(canvas);
    const tools = section.querySelector(".tools");
    this.button(tools, "zoom in", () => this.zoom(0.5, this.middle()));
    this.button(tools, "zoom out", () => this.zoom(2, this.middle()));
    this.button(tools, "earlier", () => this.move(-0.25));
    this.button(tools, "later", () => this.move(0.25));
    this.button(tools, "whole step", () => this.show(0, run.end));
    const sums = this.sums();
    this.fillKey(section.querySelector(".key.kinds"), run.kinds, (k) => sums[k] > 0 && ms(sums[k]));
    this.fillKey(section.querySelector(".key.tenants"), run.tenants, () => "");
    this.draw();
  }

  button(tools, text, act) {
    const made = element("button", text, tools);
    made.type = "button";
    made.addEventListener("click", act);
  }

  // `note`: what stands behind a name; false: it is left out.
  fillKey(list, kinds, note) {
    kinds.forEach((kind, index) => {
      if (note(index) === false)
        return;
      const item = element("li", "", list), box = element("i", "", item);
      box.style.background = kind.colour;
      item.append(kind.name + " " + note(index));
    });
  }

  // By kind, of all that is drawn.
  sums() {
    const sums = this.run.kinds.map(() => 0);
    for (const row of this.run.rows)
      row.kind.forEach((kind, i) => (sums[kind] += row.duration[i]));
    return sums;
  }

  middle() {
    return (this.window[0] + this.window[1]) / 2;
  }

  show(from, to) {
    const least = Math.min(this.run.end, 1000), width = Math.min(Math.max(to - from, least), this.run.end);
    const start = Math.min(Math.max(from, 0), this.run.end - width);
    this.window = [start, start + width];
    this.draw();
  }

  zoom(factor, at) {
    const [from, to] = this.window;
    this.show(at - (at - from) * factor, at + (to - at) * factor);
  }

  move(share) {
    const width = this.window[1] - this.window[0];
    this.show(this.window[0] + share * width, this.window[1] + share * width);
  }

  timeAt(canvas, x) {
    const left = leftOf(canvas), width = canvas.clientWidth - left - RIGHT;
    return this.window[0] + ((x - left) / width) * (this.window[1] - this.window[0]);
  }

  listen(canvas) {
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey)
        return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 || event.deltaX > 0 ? 1.25 : 0.8, this.timeAt(canvas, event.offsetX));
    }, {passive: false});
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, this.timeAt(canvas, event.offsetX)));
    canvas.addEventListener("pointerdown", (event) => {
      this.dragged = {x: event.clientX, window: this.window};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => (this.dragged = null));
    canvas.addEventListener("pointermove", (event) => {
      if (this.dragged) {
        const [from, to] = this.dragged.window;
        const moved = ((event.clientX - this.dragged.x) / (canvas.clientWidth - leftOf(canvas) - RIGHT)) * (to - from);
        this.show(from - moved, to - moved);
      }
      this.tell(this.timeAt(canvas, event.offsetX), canvas === this.timeline ? event.offsetY : -1);
    });
    canvas.addEventListener("keydown", (event) => {
      const acts = {"+": () => this.zoom(0.5, this.middle()), "=": () => this.zoom(0.5, this.middle()),
                    "-": () => this.zoom(2, this.middle()), "0": () => this.show(0, this.run.end),
                    "ArrowLeft": () => this.move(-0.25), "ArrowRight": () => this.move(0.25)};
      if (!acts[event.key])
        return;
      event.preventDefault();
      acts[event.key]();
      this.tell(this.middle(), -1);
    });
  }

  // The last box of a row that begins no later; -1: none. Boxes of a row are in order.
  boxAt(row, time) {
    let low = 0, high = row.start.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.start[middle] <= time)
        low = middle + 1;
      else
        high = middle;
    }
    return low - 1;
  }

  describe(row, index) {
    const layer = row.layer[index], name = this.run.names[row.name[index]];
    const what = [name, layer >= 0 ? "layer " + layer : "", this.run.kinds[row.kind[index]].name].filter((t) => t);
    const when = ms(row.duration[index]) + " from " + ms(row.start[index]) + " on";
    return row.title + ": " + what.join(", ") + ", " + when;
  }

  tell(time, y) {
    if (time < 0 || time > this.run.end)
      return;
    this.marked = time;
    const lines = [];
    this.run.rows.forEach((row, r) => {
      const index = this.boxAt(row, time), within = index >= 0 && row.start[index] + row.duration[index] > time;
      if (within && (y < 0 || Math.floor((y - GAP / 2) / (ROW + GAP)) === r))
        lines.push(this.describe(row, index));
    });
    const level = this.levelAt(time);
    if (level >= 0) {
      const held = this.run.tenants.map((tenant, t) => [tenant.name, this.run.levels.held[t][level]]);
      const all = held.reduce((sum, [, bytes]) => sum + bytes, 0);
      const each = held.filter(([, bytes]) => bytes > 0).map(([name, bytes]) => name + " " + gib(bytes));
      lines.push("memory: " + gib(all) + " (" + each.join(", ") + ")");
    }
    this.hover.replaceChildren();
    element("strong", ms(time), this.hover);
    this.hover.append(lines.length > 0 ? " — " + lines.join("; ") : " — nothing runs");
    this.draw();
  }

  levelAt(time) {
    const at = this.run.levels.at;
    let low = 0, high = at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[middle] <= time)
        low = middle + 1;
      else
        high = middle;
    }
    return low - 1;
  }

  // A canvas of so many pixels of the page, sharp on every screen.
  prepare(canvas, height) {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    pen.textBaseline = "middle";
    const left = leftOf(canvas);
    return {pen, height, left, plot: width - left - RIGHT};
  }

  drawTimes({pen, height, left, plot}) {
    const [from, to] = this.window, step = spacing(to - from, Math.max(2, Math.floor(plot / 110)));
    const decimals = Math.max(0, -Math.floor(Math.log10(step / 1e9)));
    pen.fillStyle = variable("--plot-soft");
    pen.textAlign = "center";
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const x = left + ((time - from) / (to - from)) * plot;
      pen.fillRect(x, height - AXIS, 1, 4);
      if (x < left + plot - 24)
        pen.fillText((time / 1e9).toFixed(Math.min(decimals, 6)), x, height - AXIS / 2 + 2);
    }
    pen.textAlign = "right";
    pen.fillText("ms", left + plot + 10, height - AXIS / 2 + 2);
    if (this.marked !== null && this.marked >= from && this.marked <= to) {
      pen.fillStyle = variable("--plot-ink");
      pen.fillRect(left + ((this.marked - from) / (to - from)) * plot, 0, 1, height - AXIS);
    }
  }

  // Each column of pixels is divided by the times of the kinds in it.
  drawRow(row, y, {pen, left, plot}) {
    const [from, to] = this.window, columns = Math.floor(plot), width = (to - from) / columns;
    const kinds = this.run.kinds.length, times = new Float64Array(columns * kinds);
    for (let i = Math.max(0, this.boxAt(row, from)); i < row.start.length && row.start[i] < to; i++) {
      let start = Math.max(row.start[i], from);
      const end = Math.min(row.start[i] + row.duration[i], to);
      for (let c = Math.floor((start - from) / width); start < end && c < columns; c++) {
        const stop = Math.min(end, from + (c + 1) * width);
        times[c * kinds + row.kind[i]] += Math.max(0, stop - start);
        start = Math.max(start, stop);
      }
    }
    for (let c = 0; c < columns; c++) {
      let below = y + ROW;
      for (let k = 0; k < kinds; k++) {
        const part = (times[c * kinds + k] / width) * ROW;
        if (part <= 0)
          continue;
        pen.fillStyle = this.run.kinds[k].colour;
        pen.fillRect(left + c, below - part, 1, part);
        below -= part;
      }
    }
    this.drawLabels(row, y, {pen, left, plot});
  }

  drawLabels(row, y, {pen, left, plot}) {
    const [from, to] = this.window, scale = plot / (to - from);
    pen.textAlign = "center";
    for (let i = Math.max(0, this.boxAt(row, from)); i < row.start.length && row.start[i] < to; i++) {
      const start = Math.max(row.start[i], from), end = Math.min(row.start[i] + row.duration[i], to);
      const room = (end - start) * scale;
      if (room < 3 * LABEL_ROOM)
        continue;
      const layer = row.layer[i] >= 0 ? "L" + row.layer[i] : "", name = this.run.names[row.name[i]];
      const both = (name + " " + layer).trim(), text = both.length * LABEL_ROOM < room ? both : layer;
      const x = left + (start - from) * scale;
      pen.fillStyle = variable("--plot-ink");
      pen.globalAlpha = 0.5;
      pen.fillRect(x, y + ROW - 6, 1, 6);
      pen.globalAlpha = 1;
      pen.fillStyle = this.run.kinds[row.kind[i]].dark ? "#ffffff" : "#000000";
      if (text.length * LABEL_ROOM < room)
        pen.fillText(text, x + room / 2, y + ROW / 2);
    }
  }

  drawTimeline() {
    const rows = this.run.rows, place = this.prepare(this.timeline, rows.length * (ROW + GAP) + GAP + AXIS);
    rows.forEach((row, r) => {
      const y = GAP + r * (ROW + GAP);
      place.pen.fillStyle = variable("--plot-ink");
      place.pen.textAlign = "right";
      const most = Math.floor((place.left - 8) / LABEL_ROOM);
      const title = row.title.length > most ? row.title.slice(0, most - 1) + "…" : row.title;
      place.pen.fillText(title, place.left - 8, y + ROW / 2);
      this.drawRow(row, y, place);
    });
    this.drawTimes(place);
  }

  drawMemory() {
    const {levels, tenants, capacity, peak} = this.run, place = this.prepare(this.memory, MEMORY_HEIGHT);
    const {pen, left, plot} = place, [from, to] = this.window, bottom = MEMORY_HEIGHT - AXIS;
    const columns = Math.floor(plot);
    const most = Math.max(peak, Math.min(capacity, 2 * peak)) * 1.06, scale = (bottom - 8) / most;
    let level = Math.max(0, this.levelAt(from));
    for (let c = 0; c < columns; c++) {
      // Of what a column holds the highest.
      const until = from + ((c + 1) / columns) * (to - from);
      let best = level, bestSum = -1;
      for (;;) {
        const sum = tenants.reduce((total, _, t) => total + levels.held[t][level], 0);
        const held = tenants.reduce((total, tenant, t) => total + (tenant.cache ? 0 : levels.held[t][level]), 0);
        if (held > bestSum && sum >= 0) {
          best = level;
          bestSum = held;
        }
        if (level + 1 >= levels.at.length || levels.at[level + 1] >= until)
          break;
        level++;
      }
      let y = bottom;
      tenants.forEach((tenant, t) => {
        const part = levels.held[t][best] * scale;
        pen.fillStyle = tenant.colour;
        pen.fillRect(left + c, y - part, 1, part);
        y -= part;
      });
    }
    const lines = [[peak, "peak " + gib(peak), [2, 4]], [capacity, "capacity " + gib(capacity), [10, 5]]];
    this.drawBytes(place, most, scale, bottom, lines);
    this.drawTimes(place);
  }

  drawBytes({pen, left, plot}, most, scale, bottom, lines) {
    const step = spacing(most / 2 ** 30, 5) * 2 ** 30;
    pen.textAlign = "right";
    pen.fillStyle = variable("--plot-soft");
    for (let bytes = 0; bytes <= most; bytes += step)
      pen.fillText((bytes / 2 ** 30).toFixed(step < 2 ** 30 ? 1 : 0) + " GiB", left - 8, bottom - bytes * scale);
    for (const [bytes, text, dash] of lines) {
      const y = Math.max(9, bottom - bytes * scale);
      pen.strokeStyle = pen.fillStyle = variable("--plot-ink");
      pen.setLineDash(dash);
      pen.beginPath();
      pen.moveTo(left, y);
      pen.lineTo(left + plot, y);
      if (bytes <= most)
        pen.stroke();
      pen.setLineDash([]);
      pen.fillText(text + (bytes <= most ? "" : ", above"), left + plot - 4, bytes <= most ? y - 8 : 9);
    }
  }

  draw() {
    this.drawTimeline();
    this.drawMemory();
  }
}

const views = [];
for (const section of document.querySelectorAll("section[data-run]")) {
  const data = document.getElementById("data-" + section.dataset.run);
  if (data)
    views.push(new View(JSON.parse(data.textContent), section));
}
const again = () => views.forEach((view) => view.draw());
window.addEventListener("resize", again);
window.addEventListener("beforeprint", again);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
document.body.dataset.drawn = String(views.length);
