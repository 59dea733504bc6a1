// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart draws lines into an SVG. It is pure and small on purpose: the
// plotting libraries for Go bring fonts, rasterisers and PDF along for what is two
// axes and a few polylines here, and their files are many times as large.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Point is one point of a line.
type Point struct{ X, Y float64 }

// Line is one series.
type Line struct {
	Name   string
	Points []Point
	// Marks draws a dot at each point.
	Marks bool
}

// Axis says how values lie along an axis.
type Axis struct {
	Label string
	// Log makes it logarithmic; values must then be positive.
	Log bool
	// Max is its end when larger than every value.
	Max float64
}

// Panel is one chart.
type Panel struct {
	Title string
	X, Y  Axis
	Lines []Line
}

// Sizes, in pixels.
const (
	width, height              = 420, 300
	left, right, above, bottom = 58, 14, 34, 44
	legendStep, legendColumns  = 15, 2
)

// colours tell lines apart, on light and dark paper and for colour-blind eyes
// (Okabe and Ito).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"}

// Draw returns an SVG with the panels side by side. The same panels make the same bytes.
func Draw(panels ...Panel) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", width*len(panels), height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width*len(panels), height)
	names := 0
	for _, p := range panels {
		names = max(names, len(p.Lines))
	}
	top := above + (names+legendColumns-1)/legendColumns*legendStep
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d 0)">`+"\n", i*width)
		p.draw(&b, top)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// draw draws the axes from top on; between the title and top are the lines' names.
func (p Panel) draw(b *strings.Builder, top int) {
	x := newScale(p.X, left, width-right, values(p.Lines, func(at Point) float64 { return at.X }))
	y := newScale(p.Y, height-bottom, float64(top), values(p.Lines, func(at Point) float64 { return at.Y }))
	fmt.Fprintf(b, `<text x="%d" y="18" font-size="13" font-weight="bold">%s</text>`+"\n", left, html.EscapeString(p.Title))
	for _, tick := range x.ticks {
		at := x.place(tick)
		fmt.Fprintf(b, `<path d="M%.1f %dV%d" stroke="#dddddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			at, top, height-bottom, at, height-bottom+15, number(tick))
	}
	for _, tick := range y.ticks {
		at := y.place(tick)
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, at, width-right, left-6, at+4, number(tick))
	}
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="#333333"/>`+"\n", left, top, height-bottom, width-right)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+width-right)/2, height-8, html.EscapeString(p.X.Label))
	fmt.Fprintf(b, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+height-bottom)/2, html.EscapeString(p.Y.Label))
	for i, l := range p.Lines {
		l.draw(b, x, y, colours[i%len(colours)])
		from := left + i%legendColumns*(width-left-right)/legendColumns
		at := above + i/legendColumns*legendStep
		fmt.Fprintf(b, `<path d="M%d %dh16" stroke="%s" stroke-width="2"/><text x="%d" y="%d">%s</text>`+"\n",
			from, at-4, colours[i%len(colours)], from+21, at, html.EscapeString(l.Name))
	}
}

func (l Line) draw(b *strings.Builder, x, y scale, colour string) {
	if len(l.Points) == 0 {
		return
	}
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, colour)
	for i, at := range l.Points {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(b, "%.1f,%.1f", x.place(at.X), y.place(at.Y))
	}
	b.WriteString("\"/>\n")
	if !l.Marks {
		return
	}
	for _, at := range l.Points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x.place(at.X), y.place(at.Y), colour)
	}
}

func values(lines []Line, of func(Point) float64) []float64 {
	var out []float64
	for _, l := range lines {
		for _, at := range l.Points {
			out = append(out, of(at))
		}
	}
	return out
}

// number spells a tick.
func number(v float64) string {
	if v >= 10000 {
		return fmt.Sprintf("%gk", math.Round(v/100)/10)
	}
	return fmt.Sprintf("%g", math.Round(v*1e6)/1e6)
}
