package plan

import "math"

// Gap returns the gap of a candidate to the bound that applies to it, (value - bound) /
// bound, and the name of the model of this bound: FluidModel if Fluid is set, RelayModel if
// the candidate relays, ForwardModel if it waits or the demand is not uniform, else
// RoundModel. The value is Slots, or Fluid, which is compared with the bound before rounding.
//
// For independent switches, the value is the mean of their slots, and the model is RelayModel.
// The bound is the one for the numbers of permutations that the switches have. It assumes only
// that the hops of a chunk on one switch follow the order of the permutations of this switch.
//
// The gap is 0 if nothing is sent. A candidate without topologies returns the error of At.
func (b *Bounder) Gap(c *Candidate) (gap float64, model string, err error) {
	if c.Switches != nil {
		var slots int64
		for _, s := range c.Switches {
			slots += s.Slots
		}
		bound := b.fluidSlots(b.minHops(switchLevels(b.n, c.Switches)))
		return relativeGap(float64(slots)/float64(b.k), bound), RelayModel, nil
	}

	bounds, err := b.At(c.Reconfigurations)
	if err != nil {
		return 0, "", err
	}
	switch {
	case c.Fluid > 0:
		m := min(int64(c.Reconfigurations), b.n)
		paths := pathCount{times: m, kinds: 1, choices: b.k}
		return relativeGap(c.Fluid, b.fluidSlots(b.minHops(paths.levels(b.n)))), FluidModel, nil
	case c.Relay:
		return relativeGap(float64(c.Slots), float64(bounds.Relay)), RelayModel, nil
	case c.Waits || b.uniform == 0:
		return relativeGap(float64(c.Slots), float64(bounds.Forward)), ForwardModel, nil
	}

	return relativeGap(float64(c.Slots), float64(bounds.Round)), RoundModel, nil
}

// relativeGap returns (value - bound) / bound, 0 if both are equal.
func relativeGap(value, bound float64) float64 {
	if value == bound {
		return 0
	}
	return (value - bound) / bound
}

// fluidSlots is slotsForHops before rounding up.
func (b *Bounder) fluidSlots(hops int64) float64 {
	return max(float64(hops)/float64(b.n*b.k), float64(b.volume)/float64(b.k))
}

// switchLevels returns how many destinations can be 1, 2, .. hops away with independent
// switches. A path of h hops takes h_j of them on switch j. The order among switches is
// arbitrary, but the permutations of a switch keep their order. The number of paths is the
// sum over h_1 + .. + h_k = h of h!/(h_1! .. h_k!) prod_j C(h_j + d_j - 1, h_j). If no
// switch is ever up, all destinations have the maximum distance.
func switchLevels(n int64, switches []SwitchLoad) []int64 {
	activeSwitches := 0
	for _, s := range switches {
		if s.Reconfigurations > 0 {
			activeSwitches++
		}
	}

	// Two or more active switches at least double the paths with each hop.
	last := n - 1
	if activeSwitches > 1 {
		last = min(last, int64(math.Ceil(math.Log2(float64(n)))))
	}

	// Multiply the counts of one switch after another, as polynomials in h. Counts are divided by h!,
	// because h!/(h_1! .. h_k!) is then a product.
	paths := make([]float64, last+1) // paths of h hops on the switches so far, divided by h!
	paths[0] = 1
	single := make([]float64, last+1) // paths of h hops on the current switch, divided by h!
	next := make([]float64, last+1)
	for _, s := range switches {
		single[0] = 1
		for h := int64(1); h <= last; h++ {
			single[h] = single[h-1] * float64(h+int64(s.Reconfigurations)-1) / float64(h) / float64(h)
		}
		clear(next)
		for i := range paths {
			for j := range len(paths) - i {
				next[i+j] += paths[i] * single[j]
			}
		}
		paths, next = next, paths
	}

	// Cut the counts off when all destinations are reached.
	var sizes []int64
	factorial := 1.0
	for remaining, h := n-1, int64(1); remaining > 0; h++ {
		size := remaining
		if h < last {
			factorial *= float64(h)
			size = min(remaining, int64(math.Min(math.Ceil(paths[h]*factorial-1e-6),
				float64(remaining)))) // whole up to rounding errors
		}
		sizes = append(sizes, size)
		remaining -= size
	}

	return sizes
}
