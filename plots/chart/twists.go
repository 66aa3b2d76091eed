// This file maps twist patterns to the tiles of a heat map, and outlines the extreme
// values.

package chart

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// patternReason is the reason for rejecting x, y and series in maps of twists.
const patternReason = "twists have no x, y or series: the place of a tile is its pattern in " + twistKey

// twistKind is the kind of maps of twist patterns.
var twistKind = kind{
	name:  "twists",
	draw:  (*view).heatmap,
	takes: []string{"aggregation"},
	tiles: true,
	needs: map[string]string{"z": "the metric that colours the twists"},
	without: map[string]string{
		"x":      patternReason,
		"y":      patternReason,
		"series": patternReason,
		"log_x":  logTilesReason,
		"log_y":  logTilesReason,
	},
	roles: func(v *view) error {
		if err := v.findTwists(); err != nil {
			return err
		}
		return v.assignPanels()
	},
}

// twistKey is the key whose values are twist patterns.
const twistKey = "fabric.twist"

// A twist pattern has twistBits bits. The map has one column per value of the first half of
// the bits and one row per value of the second half.
const (
	twistBits = 6
	twistSide = 1 << (twistBits / 2)
)

// twistCell returns the cell number of a pattern in the heat maps of Figs. 8 and 9 of the
// twisted-tori paper (Sec. III-B): row by row from the top left, in binary order with the
// lowest bit first.
func twistCell(pattern string) (int, error) {
	if len(pattern) != twistBits || strings.Trim(pattern, "01") != "" {
		return 0, fmt.Errorf("%q is no twist pattern of six bits, such as 001010",
			pattern)
	}

	cell := 0
	for i, bit := range pattern {
		if bit == '1' {
			cell |= 1 << i
		}
	}
	return cell, nil
}

// bitsOf formats the n lowest bits of v, the lowest first.
func bitsOf(v, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0' + byte(v>>i&1)
	}
	return string(b)
}

// twistAt returns the cell number at a column and a row of the map. Rows are counted from the
// bottom, while cell numbers start at the top.
func twistAt(column, row int) int {
	return column + twistSide*(twistSide-1-row)
}

// findTwists finds the axis of twist patterns and assigns the two halves of the patterns to
// the x and y axes.
func (v *view) findTwists() error {
	f, err := v.find("twists", twistKey)
	if err != nil {
		return fmt.Errorf("twists need a sweep over %s: %w", twistKey, err)
	}

	// cells has the cell number of each pattern of the axis.
	cells := make([]int, len(f.labels))
	for i, l := range f.labels {
		if cells[i], err = twistCell(l); err != nil {
			return fmt.Errorf("twists: axis %s: %w", f.name, err)
		}
	}

	// half returns a dimension for one half of the patterns. label formats a value of the half,
	// and at extracts the value from a cell number.
	half := func(words string, label func(i int) string, at func(cell int) int) *dimension {
		h := &dimension{
			name:   f.name,
			text:   words,
			index:  math.MaxInt, // no axis of the sweep
			parent: f,
			indexOf: func(c *result.Cell) int {
				return at(cells[c.At[f.index]])
			},
		}

		for i := range twistSide {
			h.labels = append(h.labels, label(i))
			h.categories = append(h.categories, i)
			h.position = append(h.position, i)
		}
		return h
	}

	// The first bits are the column, the last bits the row from the bottom.
	v.x = half("first three bits of the twist", func(i int) string {
		return bitsOf(i, twistBits/2)
	}, func(cell int) int { return cell % twistSide })
	v.series = half("last three bits", func(i int) string {
		return bitsOf(twistSide-1-i, twistBits/2)
	}, func(cell int) int { return twistSide - 1 - cell/twistSide })
	return nil
}

// extremeStyles are the styles of the outlines around the lowest and the highest value.
var extremeStyles = [2]draw.LineStyle{
	sheet.Line(sheet.Vermillion, 2.2),
	sheet.Line(sheet.Black, 1.8, 3, 2),
}

// outlineExtremes draws outlines around the tiles of a panel with the lowest and the highest
// value.
func (h *heatChart) outlineExtremes(c draw.Canvas, panel int, w, high vg.Length) {
	ends := h.ranges[panel]
	for e, style := range extremeStyles {
		// Collect the outlines of all tiles that have the extreme value.
		var rings [][]vg.Point
		for s := range h.series {
			for g := range h.columns {
				if cell := h.cell(panel, s, g); cell.n > 0 &&
					sheet.NearlyEqual(cell.mean, ends[e]) &&
					!sheet.NearlyEqual(ends[0], ends[1]) {
					x := c.Min.X + w*vg.Length(g)
					y := c.Min.Y + high*vg.Length(s)
					rings = append(rings,
						sheet.RectanglePath(x+1.2, x+w-1.2, y+1.2, y+high-1.2))
				}
			}
		}

		// A white edge makes the outline visible on any colour.
		c.StrokeLines(sheet.Line(sheet.White, 3.4), rings...)
		c.StrokeLines(style, rings...)
	}
}

// legend explains the outlines. If the metric has a better direction and one reference, they are
// the best and the worst value.
func (h *heatChart) legend(s *sheet.Sheet, metric string) {
	words := [2]string{"least", "greatest"}
	switch better := result.Better(metric); {
	case h.v.difference != nil:
	case better == result.Lower:
		words = [2]string{"best", "worst"}
	case better == result.Higher:
		words = [2]string{"worst", "best"}
	}

	for e, style := range extremeStyles {
		text := words[e]
		if len(h.ranges) > 1 {
			text += " of a panel"
		}
		s.AddLegend(text+[2]string{" (lowest)", " (highest)"}[e],
			func(c draw.Canvas) {
				c.StrokeLines(style, sheet.RectanglePath(c.Min.X+5, c.Max.X-5, c.Min.Y-1,
					c.Max.Y+1))
			})
	}
}
