package plots

import (
	"image/color"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"sim/scenarios/result"
)

// colorVision has the matrices of normal sight and of complete protanopia, deuteranopia and
// tritanopia on linear RGB (Machado, Oliveira and Fernandes, 2009, Table 1).
var colorVision = [][3][3]float64{
	{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// seenAs returns the CIELAB coordinates of a colour under a matrix of colorVision.
func seenAs(c color.RGBA, matrix [3][3]float64) []float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	in := []float64{linear(c.R), linear(c.G), linear(c.B)}
	var rgb [3]float64
	for i := range rgb {
		rgb[i] = min(max(floats.Dot(matrix[i][:], in), 0), 1)
	}
	f := func(r, g, b, white float64) float64 {
		t := (r*rgb[0] + g*rgb[1] + b*rgb[2]) / white
		if t > 0.008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16.0/116
	}
	x, y, z := f(0.4124, 0.3576, 0.1805, 0.95047), f(0.2126, 0.7152, 0.0722, 1), f(0.0193, 0.1192, 0.9505, 1.08883)
	return []float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// TestPartColors: readers with normal sight and colour-blind readers can distinguish all colours
// of parts, and neighbours at a glance. The colours of Okabe and Ito alone are 16 apart.
func TestPartColors(t *testing.T) {
	const minDistance, minNeighbours = 16, 45
	for i, a := range partColors {
		for j, b := range partColors[:i] {
			for k, matrix := range colorVision {
				d := floats.Distance(seenAs(a, matrix), seenAs(b, matrix), 2)
				if d < minDistance || j == i-1 && d < minNeighbours {
					t.Errorf("colours %d and %d are %.1f apart under colour vision %d", j, i, d, k)
				}
			}
		}
	}
}

// TestMergeSmallParts: the smallest parts are merged, the sum of each bar is kept, and no more
// parts than colours remain.
func TestMergeSmallParts(t *testing.T) {
	parts := []result.WholePart{{Words: "a", Values: []float64{0.9, 0.5}}, {Words: "b", Values: []float64{0.001, 0.4}}, {Words: "c", Values: []float64{0.001, 0}}}
	if got := mergeSmallParts(parts); len(got) != 3 {
		t.Errorf("one small part is merged: %v", got)
	}
	parts = append(parts, result.WholePart{Words: "d", Values: []float64{0.002, 0.004}})
	got := mergeSmallParts(parts)
	if len(got) != 3 || got[2].Words != "c, d" || !floats.EqualApprox(got[2].Values, []float64{0.003, 0.004}, 1e-12) {
		t.Errorf("merged %v", got)
	}
	many := slices.Repeat([]result.WholePart{{Words: "x", Values: []float64{0.05}}}, 20)
	sum := 0.0
	for _, p := range mergeSmallParts(many) {
		sum += p.Values[0]
	}
	if n := len(mergeSmallParts(many)); n != len(partColors) || math.Abs(sum-1) > 1e-12 {
		t.Errorf("%d parts, sum %g", n, sum)
	}
}
