// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
)

// The size of one panel of a drawing.
const panelWidth, panelHeight = 4.4 * vg.Inch, 3.2 * vg.Inch

// colours tell lines apart for colour-blind eyes too (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
	color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
	color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
}

// plotLatency draws what part of the changes was seen within which time.
func plotLatency(r *figure.Results) ([]byte, error) {
	p := newPlot("From a work agent's patch until it is seen", "milliseconds", "% of changes")
	p.Y.Max = 100
	if len(r.Distributions) > 0 { // without a value a logarithmic axis has no ends
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	for i, name := range slices.Sorted(maps.Keys(r.Distributions)) {
		d := r.Distributions[name]
		var points plotter.XYs
		for percent := 1.0; percent <= 100; percent++ {
			points = append(points, plotter.XY{X: max(d.Percentile(percent), 0.1), Y: percent})
		}
		if err := addLine(p, name, i, points, false); err != nil {
			return nil, err
		}
	}
	return drawSVG(p)
}

// plotCosts draws processor time per change and memory against the fleet's size.
func plotCosts(r *figure.Results) ([]byte, error) {
	cpu := newPlot("Processor time per status change", "Applications", "milliseconds")
	memory := newPlot("Resident memory", "Applications", "MiB")
	for i, name := range []string{"propagation", "aggregation", "resourcesync"} {
		if err := addLine(cpu, name, i, costs(r, name, func(c figure.Cost) map[string]float64 { return c.CPU }), true); err != nil {
			return nil, err
		}
		if err := addLine(memory, name, i, costs(r, name, func(c figure.Cost) map[string]float64 { return c.Memory }), true); err != nil {
			return nil, err
		}
	}
	for _, p := range []*plot.Plot{cpu, memory} {
		p.Legend.Top, p.Legend.Left = true, true
		p.Y.Max *= 1.4 // room for the legend
	}
	return drawSVG(cpu, memory)
}

// costs returns what one of the product's binaries costs in fleets of growing size.
func costs(r *figure.Results, name string, of func(figure.Cost) map[string]float64) plotter.XYs {
	var points plotter.XYs
	for _, c := range r.Costs {
		if value, measured := of(c)[name]; measured {
			points = append(points, plotter.XY{X: float64(c.Applications), Y: value})
		}
	}
	return points
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	p.Y.Min = 0
	p.Add(plotter.NewGrid())
	return p
}

func addLine(p *plot.Plot, name string, n int, points plotter.XYs, marked bool) error {
	if len(points) == 0 {
		return nil // not measured in this size
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = colours[n%len(colours)], vg.Points(1.5)
	marks.Color, marks.Shape = line.Color, draw.CircleGlyph{}
	p.Add(line)
	if marked {
		p.Add(marks)
	}
	p.Legend.Add(name, line)
	return nil
}

// drawSVG puts plots side by side. The same plots make the same bytes.
func drawSVG(plots ...*plot.Plot) ([]byte, error) {
	canvas := vgsvg.New(panelWidth*vg.Length(len(plots)), panelHeight)
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: vg.Points(12), PadTop: vg.Points(4), PadRight: vg.Points(8)}
	for i, row := range plot.Align([][]*plot.Plot{plots}, tiles, draw.New(canvas))[0] {
		plots[i].Draw(row)
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}
