// This file defines mixes: the distribution of the slices that jobs request.

package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"

	"sim/fabric/torus"
)

// Share is the relative frequency of a slice.
type Share struct {
	Shape  Shape
	Weight float64
}

// Mix is the distribution of requested slices. Its weights are not negative, and their
// sum is positive.
type Mix []Share

// tpuv4 is the mix of slices in Jouppi et al., "TPU v4: An Optically Reconfigurable
// Supercomputer for Machine Learning with Hardware Support for Embeddings", ISCA 23,
// Table 2, in per cent of jobs.
const tpuv4 = "1x1x1 2.1, 1x1x2 0.4, 1x2x2 6.7, 2x2x2 4.7, 2x2x4 6.4, 2x4x4 8.9, 4x4x4 13.9, 4x4x8T 16.0, 4x4x8 1.5, 4x4x12 0.7, " +
	"4x8x8T 9.2, 4x8x8 1.5, 4x4x16 1.0, 4x8x12 0.1, 8x8x8 9.6, 4x8x16 1.7, 4x4x32 0.6, 8x8x12 0.7, 8x8x16T 1.8, 8x8x16 1.4, 4x16x16 0.3, " +
	"4x4x64 0.1, 4x8x32 0.1, 8x12x16 0.1, 4x4x96 0.1, 8x8x24 0.1, 8x16x16T 1.4, 8x16x16 0.3, 12x16x16 5.7, 4x4x192 0.4"

// Mixes returns the known mixes by name, for pods of TPU v4.
func Mixes() map[string]Mix { return map[string]Mix{"tpuv4-2022": mustMix(tpuv4)} }

// In returns the same sizes as slices of a pod. It fails if the pod does not have them.
func (m Mix) In(pod *torus.Pod) (Mix, error) {
	m = slices.Clone(m)
	for i, s := range m {
		m[i].Shape = NewShape(pod.Cube, s.Shape.Dims)
		m[i].Shape.Twisted = s.Shape.Twisted
	}
	return m, m.Check(pod)
}

// Mean returns the mean of a function over the slices of a mix.
func (m Mix) Mean(value func(Shape) float64) float64 {
	sum, weights := 0.0, 0.0
	for _, s := range m {
		sum += s.Weight * value(s.Shape)
		weights += s.Weight
	}
	return sum / weights
}

// Check fails if a weight is negative or NaN, if no weight is positive, or if a slice is
// not one of the pod's.
func (m Mix) Check(pod *torus.Pod) error {
	sum := 0.0
	for _, s := range m {
		if err := s.Shape.check(pod); err != nil {
			return err
		}
		const maxWeight = 1e18 // keeps the sum of weights finite
		if !(s.Weight >= 0 && s.Weight < maxWeight) {
			return fmt.Errorf("fleet: %s has weight %g; weights are 0 or more", s.Shape, s.Weight)
		}
		sum += s.Weight
	}
	if sum == 0 {
		return fmt.Errorf("fleet: the weights of the mix sum to nothing; give one slice a weight above 0")
	}
	return nil
}

// SmallestFit returns the smallest slice of the mix with at least the given number of
// chips. Of several slices with the same size, it returns the most frequent one. It
// reports whether there is one.
func (m Mix) SmallestFit(chips int) (Shape, bool) {
	best := -1
	for i, s := range m {
		if s.Shape.Chips() < chips || s.Weight == 0 {
			continue
		}
		if best < 0 || s.Shape.Chips() < m[best].Shape.Chips() ||
			s.Shape.Chips() == m[best].Shape.Chips() && s.Weight > m[best].Weight {
			best = i
		}
	}
	if best < 0 {
		return Shape{}, false
	}
	return m[best].Shape, true
}

// mixSampler draws slices of a mix.
type mixSampler struct {
	mix Mix
	sum []float64 // cumulative weights: sum[i] is the weight of mix[0] to mix[i]
}

// newMixSampler returns a sampler of a mix.
func newMixSampler(m Mix) *mixSampler {
	d := &mixSampler{mix: m, sum: make([]float64, len(m))}
	sum := 0.0
	for i, s := range m {
		sum += s.Weight
		d.sum[i] = sum
	}
	return d
}

// sample draws a slice, with a probability proportional to its weight.
func (d *mixSampler) sample(r *rand.Rand) Shape {
	x := r.Float64() * d.sum[len(d.sum)-1]
	i := sort.Search(len(d.sum), func(i int) bool { return d.sum[i] > x })
	return d.mix[min(i, len(d.mix)-1)].Shape
}

// ParseMix parses slices of a pod with their weights, such as "4x4x4 13.9, 4x4x8T 16". It
// fails on a malformed entry and if Mix.Check fails.
func ParseMix(text string, pod *torus.Pod) (Mix, error) {
	var m Mix
	for _, entry := range strings.Split(text, ",") {
		fields := strings.Fields(entry)
		if len(fields) != 2 {
			return nil, fmt.Errorf("fleet: %.40q is not a slice and how often it is asked for", entry)
		}
		shape, err := ParseShape(fields[0], pod)
		if err != nil {
			return nil, err
		}
		weight, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return nil, fmt.Errorf("fleet: %.40q is not a number; it says how often %s is asked for", fields[1], shape)
		}
		m = append(m, Share{Shape: shape, Weight: weight})
	}
	return m, m.Check(pod)
}

// mustMix is ParseMix for valid texts and pods of TPU v4.
func mustMix(text string) Mix {
	m, err := ParseMix(text, torus.TPUv4Pod())
	if err != nil {
		panic(err)
	}
	return m
}
