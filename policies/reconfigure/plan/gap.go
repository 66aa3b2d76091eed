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
		bound := b.fluid(b.hops(switchLevels(b.n, c.Switches)))
		return above(float64(slots)/float64(b.k), bound), RelayModel, nil
	}
	bounds, err := b.At(c.Reconfigurations)
	if err != nil {
		return 0, "", err
	}
	switch {
	case c.Fluid > 0:
		m := min(int64(c.Reconfigurations), b.n)
		return above(c.Fluid, b.fluid(b.hops(repeated{m, 1, b.k}.levels(b.n)))), FluidModel, nil
	case c.Relay:
		return above(float64(c.Slots), float64(bounds.Relay)), RelayModel, nil
	case c.Waits || b.uniform == 0:
		return above(float64(c.Slots), float64(bounds.Forward)), ForwardModel, nil
	}
	return above(float64(c.Slots), float64(bounds.Round)), RoundModel, nil
}

func above(value, bound float64) float64 {
	if value == bound {
		return 0
	}
	return (value - bound) / bound
}

// fluid is slots before rounding up.
func (b *Bounder) fluid(hops int64) float64 {
	return max(float64(hops)/float64(b.n*b.k), float64(b.volume)/float64(b.k))
}

// switchLevels are the levels of switches that reconfigure on their own. A way of h hops takes h_j of them on switch j,
// in any order among switches but with the permutations of each in their order: sum over h_1 + .. + h_k = h of h!/(h_1!
// .. h_k!) prod_j C(h_j + d_j - 1, h_j) ways. Where no switch is ever up, all are as far as can be.
func switchLevels(n int64, switches []SwitchLoad) []int64 {
	lit := 0
	for _, s := range switches {
		if s.Reconfigurations > 0 {
			lit++
		}
	}
	// Two switches or more double the ways at each hop.
	last := n - 1
	if lit > 1 {
		last = min(last, int64(math.Ceil(math.Log2(float64(n)))))
	}
	ways := make([]float64, last+1) // of h hops, on the switches so far, divided by h!
	ways[0] = 1
	one, next := make([]float64, last+1), make([]float64, last+1)
	for _, s := range switches {
		one[0] = 1
		for h := int64(1); h <= last; h++ {
			one[h] = one[h-1] * float64(h+int64(s.Reconfigurations)-1) / float64(h) / float64(h)
		}
		clear(next)
		for i := range ways {
			for j := range len(ways) - i {
				next[i+j] += ways[i] * one[j]
			}
		}
		ways, next = next, ways
	}
	var sizes []int64
	factorial := 1.0
	for left, h := n-1, int64(1); left > 0; h++ {
		size := left
		if h < last {
			factorial *= float64(h)
			size = min(left, int64(math.Min(math.Ceil(ways[h]*factorial-1e-6), float64(left)))) // whole but for rounding
		}
		sizes = append(sizes, size)
		left -= size
	}
	return sizes
}
