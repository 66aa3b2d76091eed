package plan

import "math"

// Gap returns how far a candidate is above the bound that belongs to it, (value - bound) / bound, and the name of the
// model of that bound: fluid if it is, relay if it relays, else forward if it waits or the demand is not uniform, else
// round.
//
// The value is Slots; Fluid, which is compared with the bound before it is rounded up, where that is set; and for
// switches on their own the mean of their slots. Those are always held against relaying, with as many permutations as
// each switch has: a chunk's hops on one switch follow the order of its permutations, and nothing more is asked. The
// gap is 0 where nothing is to be sent. Error: that of At for a candidate without topologies.
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
		return relativeGap(c.Fluid, b.fluidSlots(b.minHops(pathCount{m, 1, b.k}.levels(b.n)))), FluidModel, nil
	case c.Relay:
		return relativeGap(float64(c.Slots), float64(bounds.Relay)), RelayModel, nil
	case c.Waits || b.uniform == 0:
		return relativeGap(float64(c.Slots), float64(bounds.Forward)), ForwardModel, nil
	}
	return relativeGap(float64(c.Slots), float64(bounds.Round)), RoundModel, nil
}

func relativeGap(value, bound float64) float64 {
	if value == bound {
		return 0
	}
	return (value - bound) / bound
}

// fluidSlots is slots before rounding up.
func (b *Bounder) fluidSlots(hops int64) float64 {
	return max(float64(hops)/float64(b.n*b.k), float64(b.volume)/float64(b.k))
}

// switchLevels are the levels of switches that reconfigure on their own. A way of h hops takes h_j of them on switch j,
// in any order among switches but with the permutations of each in their order: sum over h_1 + .. + h_k = h of h!/(h_1!
// .. h_k!) prod_j C(h_j + d_j - 1, h_j) ways. Where no switch is ever up, all are as far as can be.
func switchLevels(n int64, switches []SwitchLoad) []int64 {
	activeSwitches := 0
	for _, s := range switches {
		if s.Reconfigurations > 0 {
			activeSwitches++
		}
	}
	// Two switches or more double the ways at each hop.
	last := n - 1
	if activeSwitches > 1 {
		last = min(last, int64(math.Ceil(math.Log2(float64(n)))))
	}
	paths := make([]float64, last+1) // of h hops, on the switches so far, divided by h!
	paths[0] = 1
	single, next := make([]float64, last+1), make([]float64, last+1)
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
	var sizes []int64
	factorial := 1.0
	for remaining, h := n-1, int64(1); remaining > 0; h++ {
		size := remaining
		if h < last {
			factorial *= float64(h)
			size = min(remaining, int64(math.Min(math.Ceil(paths[h]*factorial-1e-6), float64(remaining)))) // whole but for rounding
		}
		sizes = append(sizes, size)
		remaining -= size
	}
	return sizes
}
